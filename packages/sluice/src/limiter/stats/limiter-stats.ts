import type { RecountOutcome } from '../../stores/store.ts'
import type { DecisionCounts, RuleStats } from './decision-stats.ts'

/** How a limiter stands, and what it decided since it is counted. */
export interface LimiterStats {
  readonly policy: {
    readonly version: string
    readonly source: string
    readonly ageMs: number
    readonly lastError: string | null
  }
  readonly breaker: 'closed' | 'open' | 'half-open'
  readonly decisions: DecisionCounts
  /** The last 60 seconds, the present one last: allowed, denied, degraded. */
  readonly recent: readonly (readonly [allowed: number, denied: number, degraded: number])[]
  /**
   * The number of the last of these seconds, by a clock of this process, so that overlapping reports can be aligned.
   */
  readonly second: number
  /** How long the decisions of the last 30 to 60 seconds took, as counts for `latencyQuantile`. */
  readonly latency: readonly number[]
  /** The busiest rules; with many rules each has fewer keys. */
  readonly rules: readonly RuleStats[]
  /** Rules whose source of truth was asked. */
  readonly recounts: readonly RecountStats[]
  /** Over how long keys are counted, in milliseconds. */
  readonly hotKeysOverMs: number
}

/** How often the source of truth of a rule was asked, by what came of it; see the event `recount`. */
export interface RecountStats extends Readonly<Record<RecountOutcome, number>> {
  readonly rule: string
}
