import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type LimiterOptions, limiterOptionNames } from '../../limiter/limiter-options.ts'
import { adapterOptionNames } from '../request/adapter-options.ts'
import { refuseForeign } from './foreign-options.ts'
import { limiterGuardOptionNames } from './guard-options.ts'

/** What an adapter takes for a limiter: a limiter, a promise of one, or options of `createLimiter`. */
export type GivenLimiter = Limiter | PromiseLike<Limiter> | LimiterOptions

/** A limiter that is there, or is being made. */
export interface OpenedLimiter {
  readonly limiter: Limiter | Promise<Limiter>
  /** Closes the limiter if it was made from options; any other is closed by its creator. */
  close(): Promise<void>
}

/** The promises that were given, and those that stand for them here: one failure is reported once. */
const opening = new WeakMap<PromiseLike<Limiter>, Promise<Limiter>>()

/** Opens what an adapter was given. `call` is a call of the adapter, for error messages. */
export function openLimiter(given: GivenLimiter, call: string): OpenedLimiter {
  if (isLimiter(given)) return { limiter: given, close: leaveOpen }
  if (isPromise(given)) return { limiter: awaited(given, call), close: leaveOpen }
  if (typeof given !== 'object' || given === null) throw noLimiter(given, call)
  refuseForeign(given, limiterOptionNames, call)
  refuseAdapterOptions(given)
  checkOptionNames('createLimiter', given, limiterOptionNames)
  // Most adapters are given a limiter, and need not load what makes one.
  const made = import('../../limiter/create-limiter.ts').then(({ createLimiter }) => createLimiter(given))
  const limiter = awaited(made, call)
  return { limiter, close: () => limiter.then((open) => open.close(), leaveOpen) }
}

export function isPromise<Made extends PromiseLike<unknown>>(value: Made | object): value is Made {
  return typeof (value as Partial<Made> | null | undefined)?.then === 'function'
}

function isLimiter(given: unknown): given is Limiter {
  return typeof (given as Partial<Limiter> | null | undefined)?.admit === 'function'
}

function awaited(given: PromiseLike<Limiter>, call: string): Promise<Limiter> {
  const known = opening.get(given)
  if (known !== undefined) return known
  const limiter = Promise.resolve(given).then((made) => {
    if (isLimiter(made)) return made
    const isOptions = typeof made === 'object' && made !== null && Object.keys(made).some(isLimiterOption)
    throw isOptions
      ? invalidOption(
          `the limiter of ${call}`,
          made,
          'await options before you pass them: a promise is one of a limiter',
        )
      : noLimiter(made, call)
  })
  limiter.catch((error) => {
    console.error(`sluice: ${call} has no limiter and answers with 503: ${String(error).replaceAll(/\s+/g, ' ')}`)
  })
  opening.set(given, limiter)
  opening.set(limiter, limiter)
  return limiter
}

const isLimiterOption = (name: string): boolean => limiterOptionNames.includes(name)

function refuseAdapterOptions(given: object): void {
  const names = [...limiterGuardOptionNames, ...adapterOptionNames()]
  for (const [name, value] of Object.entries(given)) {
    if (names.includes(name))
      throw invalidOption(`rateLimit.${name}`, value, 'it belongs to the adapter: pass it beside the limiter')
  }
}

const noLimiter = (given: unknown, call: string): Error =>
  invalidOption(
    `the limiter of ${call}`,
    given,
    'pass a limiter, a promise of one, or options such as { limits: { rpm: 100 } }',
  )

const leaveOpen = async (): Promise<void> => {}
