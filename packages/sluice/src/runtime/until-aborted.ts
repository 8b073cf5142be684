import { onAbort } from './on-abort.ts'

/** The result of some work, unless the signal aborts first. What others wait for is not affected. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const removeListener = onAbort(signal, () => reject(signal.reason))
    if (signal.aborted) reject(signal.reason)
    work.then(resolve, reject)
    work.then(removeListener, removeListener)
  })
}
