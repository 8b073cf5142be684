import type { BookedLimit, BookingRules, Units } from '../booking/messages.ts'
import { silentMs } from '../booking/state.ts'

/**
 * What decides while shared state cannot be reached: the places held here, nothing, this replica's share, or no limit
 * at all.
 */
export type OutageMode = 'held' | 'closed' | 'local' | 'open'

/** A call on a held place is started only with at least this much time left to arrive. */
const leastArrivalMs = 1000

/**
 * Selects the mode. Places that this process held at its last answered exchange stay its own until others may consider
 * it dead, `silentMs` later: whatever is written on them must have arrived by then. No process has a share of a limit
 * while the number of replicas is unknown.
 */
export function outageMode(
  lastSeenMs: number,
  nowMs: number,
  onStoreFailure: 'open' | 'closed' | 'local',
  replicas: number | undefined,
): OutageMode {
  if (lastSeenMs >= 0 && nowMs < lastSeenMs + silentMs - leastArrivalMs) return 'held'
  return onStoreFailure === 'local' && replicas === undefined ? 'closed' : onStoreFailure
}

/** By when a request that is written on a held place must have arrived, by the monotonic clock. */
export function arriveByMs(mode: OutageMode, lastSeenMs: number): number {
  return mode === 'held' ? lastSeenMs + silentMs : Infinity
}

/** When the mode may change without an exchange. */
export function modeEndsMs(mode: OutageMode, lastSeenMs: number): number {
  return mode === 'held' ? lastSeenMs + silentMs - leastArrivalMs : Infinity
}

/**
 * The rules that are enforced in this process during the outage; undefined when nothing may be granted. A share is
 * rounded down: the replicas together never have more than the limit, as far as their number was known.
 */
export function outageRules(
  mode: OutageMode,
  rules: BookingRules,
  held: Units,
  replicas: number | undefined,
): BookingRules | undefined {
  if (mode === 'closed') return undefined
  const amountOf = ({ key, amount }: BookedLimit): number => {
    if (mode === 'held') return Math.min(amount, held[key] ?? 0)
    return mode === 'local' ? Math.floor(amount / (replicas ?? Infinity)) : Number.MAX_SAFE_INTEGER
  }
  const limits = rules.limits.map((limit) => ({ ...limit, amount: amountOf(limit) }))
  return limits.some(({ amount }) => amount <= 0) ? undefined : { ...rules, limits }
}
