export interface BackoffOptions {
  /** The longest first wait. 250 ms by default. */
  readonly baseMs?: number
  /** By how much each wait is longer than the one before. 2 by default. */
  readonly factor?: number
  /** The longest wait of all. 10 s by default. */
  readonly maxMs?: number
  /** Which share of the wait is left to chance: 0 none, 1 all of it ("full jitter"). 0.5 by default. */
  readonly jitter?: number
}

/**
 * How long to wait before attempt number `attempt` (from 0): grows up to a maximum, and a share of it is left to
 * chance, so that replicas that lost a server at the same moment do not come back at the same moment.
 */
export function backoffMs(attempt: number, random: () => number, options: BackoffOptions = {}): number {
  const { baseMs = 250, factor = 2, maxMs = 10_000, jitter = 0.5 } = options
  // The power overflows to Infinity at the most, and the minimum tames that.
  const longest = baseMs === 0 ? 0 : Math.min(baseMs * factor ** attempt, maxMs)
  return longest * (1 - jitter) + longest * jitter * random()
}
