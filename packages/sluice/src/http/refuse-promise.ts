import { SluiceError } from '../core/errors.ts'

/**
 * Hands on what a function of the app answered, unless that is a promise: where an answer is needed at once, a promise
 * would count as true, or as an object without the field that is looked for.
 */
export function refusePromise<Value>(name: string, value: Value): Value {
  if (typeof (value as { then?: unknown } | null | undefined)?.then !== 'function') return value
  // Should it reject, nobody waits for it, and that would end the process.
  Promise.resolve(value).catch(() => {})
  throw new SluiceError('SLUICE_WRONG_USE', `${name} returned a promise; it has to answer at once`)
}
