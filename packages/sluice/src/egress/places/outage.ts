import type { BookedLimit, BookingRules, Units } from '../booking/messages.ts'
import { silentMs } from '../booking/state.ts'

/**
 * What decides while shared state cannot be reached: the places held here, nothing, this replica's share, or no limit
 * at all.
 */
export type OutageMode = 'held' | 'closed' | 'local' | 'open'

/** A call on a held place must have so much time left to arrive; otherwise it is not begun. */
const leastArrivalMs = 1000

/**
 * Which of them it is now. Places that this process held when it was last heard of are its own until others may take it
 * for dead, which is `silentMs` after that: whatever is written on them must have arrived by then. Nobody has a share
 * of a limit while the number of replicas is unknown.
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

/** When the mode may change although nothing is heard. */
export function modeEndsMs(mode: OutageMode, lastSeenMs: number): number {
  return mode === 'held' ? lastSeenMs + silentMs - leastArrivalMs : Infinity
}

/**
 * The rules that are enforced in this process meanwhile; undefined when nothing may be granted. A share is rounded
 * down: the replicas together never have more than the limit, as far as their number was known.
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
