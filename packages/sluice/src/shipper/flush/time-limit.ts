import type { Clock } from '../../core/clock.ts'

/**
 * Runs a function with a signal that is aborted when its time is up, or when the caller's signal is. It rejects then
 * even if the function ignores the signal: a user's function that never settles must not prevent the shipper from
 * closing.
 */
export async function withTimeLimit<T>(
  clock: Clock,
  ms: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const timer = clock.setTimeout(() => controller.abort(new Error(`no answer within ${ms} ms`)), ms)
  timer.unref?.()
  // Not AbortSignal.any: the outer signal exists as long as the shipper, and would collect a dependent signal for every
  // request.
  const onAbort = (): void => controller.abort(outer.reason)
  if (outer.aborted) onAbort()
  outer.addEventListener('abort', onAbort)
  try {
    return await new Promise<T>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
      if (signal.aborted) reject(signal.reason as Error)
      // A function in plain JavaScript may return its answer as it is.
      else Promise.resolve(run(signal)).then(resolve, reject)
    })
  } finally {
    clock.clearTimeout(timer)
    outer.removeEventListener('abort', onAbort)
  }
}
