import type { Clock } from '../core/clock.ts'
import { onAbort } from './on-abort.ts'

/**
 * Waits; rejects with the reason of the signal as soon as it aborts. Leaves neither a timer nor a listener behind. With
 * a `backgroundClock` the wait does not keep the process alive.
 */
export function sleep(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => {
      removeListener()
      resolve()
    }, ms)
    const removeListener = onAbort(signal, () => {
      clock.clearTimeout(timer)
      reject(signal!.reason)
    })
  })
}
