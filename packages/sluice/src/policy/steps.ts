/** Long work in small steps: at each `yield` the process may do something else. */
export type Steps<Result> = Generator<void, Result>

/** How long steps run before other work gets its turn. */
const sliceMs = 5

/** Runs all steps without a pause. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/**
 * Runs the steps in slices of a few milliseconds, so that decisions go on meanwhile. Short work ends in its first
 * slice. An abort ends them after the present step.
 */
export async function runInSlices<Result>(steps: Steps<Result>, signal?: AbortSignal): Promise<Result> {
  let sliceEndMs = performance.now() + sliceMs
  for (;;) {
    signal?.throwIfAborted()
    const { done, value } = steps.next()
    if (done) return value
    if (performance.now() < sliceEndMs) continue
    await nextTurn()
    sliceEndMs = performance.now() + sliceMs
  }
}

function nextTurn(): Promise<void> {
  // Only Node has `setImmediate`, which lets pending I/O run first and does not wait for a millisecond.
  const later: (callback: () => void) => unknown = globalThis.setImmediate ?? globalThis.setTimeout
  return new Promise((resolve) => later(resolve))
}
