import type { BreakerState } from './circuit.ts'

/** Calls by how they ended. Each is counted once. */
export interface BreakerCounts {
  /** Also those with an error that is no failure of what was called. */
  succeeded: number
  failed: number
  /** Not made: refused by the breaker, or by a breaker or bulkhead inside it. */
  rejected: number
  /** Ended by their own caller, which says nothing about what was called. */
  cancelled: number
}

/** How a call ended. */
export type CallOutcome = keyof BreakerCounts

export const noCounts = (): BreakerCounts => ({ succeeded: 0, failed: 0, rejected: 0, cancelled: 0 })

/** Where a breaker stands, and what it has seen since it was made. */
export interface BreakerStats extends Readonly<BreakerCounts> {
  readonly key: string
  readonly state: BreakerState
  /** Calls that have not settled. */
  readonly inFlight: number
  /**
   * How many settled when the state that had admitted them was over, so that they did not count for the present one.
   */
  readonly late: number
  /** For how much longer no call is admitted. */
  readonly retryAfterMs: number
}
