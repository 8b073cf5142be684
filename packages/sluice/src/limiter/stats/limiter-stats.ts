import type { RecountOutcome } from '../../stores/store.ts'
import type { WaitOutcome } from '../events.ts'
import type { DecisionCounts, RuleStats } from './decision-stats.ts'
import type { ReportedDenial } from './recent-denials.ts'

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
  /** The last denials, the oldest first. */
  readonly denials: readonly ReportedDenial[]
  /** Rules whose source of truth was asked. */
  readonly recounts: readonly RecountStats[]
  /** How many wait now, and how waits ended. */
  readonly waits: { readonly waiting: number } & Readonly<Record<WaitOutcome, number>>
  /** Over how long keys are counted, in milliseconds. */
  readonly hotKeysOverMs: number
}

/** How often the source of truth of a rule was asked, by what came of it; see the event `recount`. */
export interface RecountStats extends Readonly<Record<RecountOutcome, number>> {
  readonly rule: string
}
