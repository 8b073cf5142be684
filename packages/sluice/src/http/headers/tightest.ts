import type { LimitStatus } from '../../core/engine/ask.ts'

/**
 * The one limit that headers made for a single limit should show: the one that denies for longest, else the one with
 * the least left. Limits on what is in flight say nothing about a window, so they only count when there is nothing
 * else.
 */
export function tightest(limits: readonly LimitStatus[]): LimitStatus {
  let best = limits[0]!
  for (const limit of limits) if (isTighter(limit, best)) best = limit
  return best
}

function isTighter(a: LimitStatus, b: LimitStatus): boolean {
  if (a.windowMs > 0 !== b.windowMs > 0) return a.windowMs > 0
  if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs
  return a.remaining !== b.remaining ? a.remaining < b.remaining : a.resetMs > b.resetMs
}

/**
 * Until the limit is open again, if it denies; else until it is fully available again. `Infinity` becomes the whole
 * window.
 */
export function resetMs({ retryAfterMs, resetMs: unusedMs, windowMs }: LimitStatus): number {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return windowMs
  return retryAfterMs > 0 ? retryAfterMs : unusedMs
}
