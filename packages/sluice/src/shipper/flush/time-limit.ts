import type { Clock } from '../../core/clock.ts'
import { withinTime } from '../../runtime/within-time.ts'

/**
 * Runs a function with a signal that is aborted when its time is up, or when the caller's signal is. It rejects then
 * even if the function ignores the signal: a user's function that never settles must not prevent the shipper from
 * closing. Until then it keeps the process alive, as the caller waits.
 */
export async function withTimeLimit<T>(
  clock: Clock,
  ms: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const own = new AbortController()
  // A function in plain JavaScript may throw, or return its answer as it is.
  const work = async (): Promise<T> => run(own.signal)
  return withinTime(work(), {
    ms,
    clock,
    late: () => new Error(`no answer within ${ms} ms`),
    signal: outer,
    givenUp: (reason) => own.abort(reason),
  })
}
