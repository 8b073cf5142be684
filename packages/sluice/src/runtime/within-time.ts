import type { Clock } from '../core/clock.ts'
import { onAbort } from './on-abort.ts'

export interface TimeLimit {
  readonly ms: number
  readonly clock: Clock
  /** What work that takes longer is rejected with. */
  readonly late: () => unknown
  /** Ends the wait early, with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Called once nobody waits for the work any more, such as to abort it. */
  readonly givenUp?: (reason: unknown) => void
}

/**
 * The result of some work, unless it takes too long or the signal aborts first; a result that comes later is dropped.
 * Leaves neither a timer nor a listener behind. For very many waits at a time use `Deadlines`, which share one timer.
 */
export function withinTime<T>(work: Promise<T>, limit: TimeLimit): Promise<T> {
  const { ms, clock, late, signal } = limit
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clock.clearTimeout(timer)
      removeListener()
    }
    const giveUp = (reason: unknown): void => {
      end()
      // Reject first: otherwise the error with which the work reacts to being aborted would win.
      reject(reason)
      limit.givenUp?.(reason)
    }
    const timer = clock.setTimeout(() => giveUp(late()), ms)
    const removeListener = onAbort(signal, () => giveUp(signal!.reason))
    if (signal?.aborted) giveUp(signal.reason)
    work.then(resolve, reject)
    work.then(end, end)
  })
}
