import { checkOptionNames, durationFrom } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import type { Duration } from '../../core/duration.ts'
import { SluiceError } from '../../core/errors.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { checkCallable, signalOf, takesSignal, type Wrapper, withSignal } from './call.ts'

/**
 * A call took too long. It is named like the error of `AbortSignal.timeout`, so that both are recognised by their name.
 */
export class TimeoutError extends SluiceError {
  override readonly name = 'TimeoutError'

  constructor(ms: number) {
    super('SLUICE_TIMEOUT', `The call did not settle within ${ms} ms.`, { transient: true })
  }
}

export interface TimeoutOptions {
  readonly clock?: Clock
}

/**
 * Gives calls a time limit: after `limit` they reject with a `TimeoutError`, whatever the function does. If the last
 * argument is a signal or an object with a `signal`, the function gets one that also aborts at the time limit. A result
 * that comes later is dropped.
 *
 * @example const score = withTimeout('200ms')((input: Input) => model.score(input))
 */
export function withTimeout(limit: Duration, options: TimeoutOptions = {}): Wrapper {
  const ms = durationFrom(1, 'withTimeout.limit', limit)
  checkOptionNames('withTimeout', options, ['clock'])
  const { clock = systemClock() } = options
  return (fn) => {
    checkCallable('withTimeout', fn)
    return function throughTimeout(...args) {
      const signal = signalOf(args)
      if (signal?.aborted) return Promise.reject(signal.reason)
      const own = takesSignal(args) ? new AbortController() : undefined
      // Inside an async function, so that synchronous throws and plain values are treated like the rest.
      const call = async () => fn.apply(this, own ? withSignal(args, own.signal) : args)
      const givenUp = (reason: unknown): void => own?.abort(reason)
      return withinTime(call(), { ms, clock, late: () => new TimeoutError(ms), signal, givenUp })
    }
  }
}
