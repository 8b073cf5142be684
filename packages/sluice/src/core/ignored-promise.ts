/**
 * Tells whether a function of the app answered with a promise where an answer is needed at once. Should it reject,
 * nobody waits for it, and that would end the process.
 */
export function isIgnoredPromise(value: unknown): boolean {
  if (typeof (value as { then?: unknown } | null | undefined)?.then !== 'function') return false
  Promise.resolve(value).catch(() => {})
  return true
}
