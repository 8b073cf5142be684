import type { PaceStatus, ShareStatus } from '../algorithms/algorithm.ts'
import type { PeriodDates } from '../algorithms/calendar-period.ts'
import type { Hold, HoldKind } from '../algorithms/state.ts'
import type { FailureKind } from '../errors.ts'

/** What a hold was before it was asked for again. */
export interface KnownHold {
  readonly cost: number
  readonly kind: HoldKind
}

/** Where one limit of one subject stands after a decision. Times are whole milliseconds, rounded up. */
export interface LimitStatus {
  readonly rule: string
  readonly name: string
  readonly amount: number
  readonly remaining: number
  /** Length of the period; 0 for `concurrency`. Of calendar periods the usual one: 24 hours, 7 days, 31 days. */
  readonly windowMs: number
  /** Until the limit is fully available again, if nothing more is spent. */
  readonly resetMs: number
  /**
   * Until this cost would pass: 0 when it passes now, `Infinity` (in JSON: null) when it never can. Of `concurrency` at
   * most a second: a permit may come back at any time.
   */
  readonly retryAfterMs: number
  /** The calendar period of a limit per day, week or month. */
  readonly period?: PeriodDates
  /** Where a limit that is paced stands on its curve. */
  readonly pace?: PaceStatus
  /** What a class has of the limit, which it shares with others. */
  readonly share?: ShareStatus
  /** Set where it is no limit: the subject is blocked until `resetMs` is over. `windowMs` is how long the block is. */
  readonly block?: true
}

/** What gave an answer; `store` when nothing else did. */
export type AnsweredBy = 'store' | 'lease' | 'deny-cache' | 'local' | 'recount' | 'open' | 'closed'

/** What a store answers. */
export interface Answer {
  /** Whether everything asked was done. */
  readonly allowed: boolean
  /** `take`: how many copies passed. `settle` and `extend`: on how many subjects the hold was open. */
  readonly granted: number
  /** The store's time of the decision, in microseconds. */
  readonly nowUs: number
  /** The limits of each charge, in the order of the charges. */
  readonly statuses: readonly (readonly LimitStatus[])[]
  /** `peek`: the holds open on each subject. */
  readonly holds?: readonly (readonly Hold[])[]
  /** `take` with a hold: what the hold was on each subject before; undefined where it was not open. */
  readonly known?: readonly (KnownHold | undefined)[]
  /** How the store failed, when the answer was given without it. Then a charge may have no statuses. */
  readonly failure?: FailureKind
  /** What answered instead of the store, if anything did. */
  readonly by?: AnsweredBy
}
