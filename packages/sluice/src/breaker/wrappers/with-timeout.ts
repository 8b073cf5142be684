import { checkOptionNames, checkWhole } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import { onAbort } from '../../runtime/on-abort.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { checkCallable, signalOf, takesSignal, type Wrapper, withSignal } from './call.ts'
import { TimeoutError } from './timeout-error.ts'

export interface TimeoutOptions {
  readonly clock?: Clock
}

/**
 * Gives calls a time limit: after `ms` they reject with a `TimeoutError`, whatever the function does. If the last
 * argument is a signal or an object with a `signal`, the function gets one that also aborts at the time limit. A result
 * that comes later is dropped.
 *
 * @example const score = withTimeout(200)((input: Input) => model.score(input))
 */
export function withTimeout(ms: number, options: TimeoutOptions = {}): Wrapper {
  checkWhole('withTimeout.ms', ms, 1, 'milliseconds')
  checkOptionNames('withTimeout', options, ['clock'])
  const { clock = systemClock() } = options
  return (fn) => {
    checkCallable('withTimeout', fn)
    return function throughTimeout(...args) {
      const signal = signalOf(args)
      if (signal?.aborted) return Promise.reject(signal.reason)
      const own = takesSignal(args) ? new AbortController() : undefined
      return new Promise((resolve, reject) => {
        const end = (): void => {
          clock.clearTimeout(timer)
          removeListener()
        }
        const giveUp = (reason: unknown): void => {
          end()
          // Reject first: otherwise the function's own error on abort would win.
          reject(reason)
          own?.abort(reason)
        }
        const timer = clock.setTimeout(() => giveUp(new TimeoutError(ms)), ms)
        const removeListener = onAbort(signal, () => giveUp(signal!.reason))
        // Inside an async function, so that synchronous throws and plain values are treated like the rest.
        const call = async () => fn.apply(this, own ? withSignal(args, own.signal) : args)
        call().then(
          (result) => {
            end()
            resolve(result)
          },
          (error) => {
            end()
            reject(error)
          },
        )
      })
    }
  }
}
