import { invalidOption } from '../core/errors.ts'
import { didYouMean } from '../policy/did-you-mean.ts'

/** Refuses what is no object, and option names that do not exist, with the nearest name that does. */
export function refuseUnknown(options: unknown, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null)
    throw invalidOption(`${where} options`, options, `pass an object with any of ${known.join(', ')}`)
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const value = (options as Record<string, unknown>)[name]
    throw invalidOption(
      `${where}.${name}`,
      value,
      `there is no such option; ${didYouMean(name, known)}known are ${known.join(', ')}`,
    )
  }
}
