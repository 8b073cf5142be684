/** Shares one result among callers for `ms`: pages ask every few seconds, and sorting thousands of keys is not free. */
export function sharedFor<T>(ms: number, make: () => T, nowMs: () => number = () => performance.now()): () => T {
  let last: { readonly atMs: number; readonly value: T } | undefined
  return () => {
    if (last === undefined || nowMs() - last.atMs >= ms) last = { atMs: nowMs(), value: make() }
    return last.value
  }
}
