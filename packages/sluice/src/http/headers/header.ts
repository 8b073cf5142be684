import type { Header } from '../../admission/outcome.ts'
import type { LimitStatus } from '../../core/engine/ask.ts'
import type { Decision } from '../../limiter/decision/decision.ts'

/** The largest integer a structured field can hold (RFC 9651, section 3.3.1). */
const maxInteger = 999_999_999_999_999

/** A whole number of units as a structured field holds it. */
export function units(amount: number): number {
  return amount >= maxInteger ? maxInteger : amount > 0 ? Math.floor(amount) : 0
}

/** Whole seconds, rounded up: waiting a little longer always helps, a little shorter never does. */
export function seconds(ms: number): number {
  return Math.min(maxInteger, Math.ceil(ms / 1000))
}

/** The name under which clients see a limit. */
export type NameOf = (status: LimitStatus) => string

/**
 * Writes the fields of one version for a decision on at least one limit. `partition` is the parameter `;pk=...`, or
 * nothing.
 */
export type HeaderWriter = (decision: Decision, partition: string) => Header[]

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

export type { Header } from '../../admission/outcome.ts'
