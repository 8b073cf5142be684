import type { PaceStatus, ShareStatus } from '../algorithms/algorithm.ts'
import type { PeriodDates } from '../algorithms/calendar-period.ts'
import type { Hold, HoldKind } from '../algorithms/state.ts'
import type { FailureKind } from '../errors.ts'
import type { LimitSet } from './limit-set.ts'

/** What a rule says should happen when the store cannot decide. */
export type OnStoreFailure = 'open' | 'closed' | 'local' | 'recount'

/** As much of a rule as a store needs to know. */
export interface ChargedRule {
  readonly name: string
  /** The start of the rule's readable keys, `service/rule/`. Every rule of every service has its own. */
  readonly prefix: string
  readonly onStoreFailure: OnStoreFailure
  /** Whether units may be drawn ahead of use and spent locally. */
  readonly lease: boolean
}

/** What is charged, without whom. */
export interface ChargeTerms {
  readonly rule: ChargedRule
  readonly limits: LimitSet
  readonly cost: number
}

/** `cost` units of the limits of one subject of one rule. */
export interface Charge extends ChargeTerms {
  /** The encoded key. */
  readonly subject: string
  /** The key, where it is a text: then `subject` is encoded only when it is first read. */
  readonly text?: string
}

/** Keep what is taken open under an id. */
export interface HoldRequest {
  readonly id: string
  readonly ttlUs: number
  readonly kind: HoldKind
  /** Hold only the charges that have a concurrency limit; the others are spent permanently, in the same step. */
  readonly permitsOnly?: boolean
  /** The id was made for this ask, so no earlier ask can have used it. */
  readonly isNew?: boolean
}

/** What a hold was before it was asked for again. */
export interface KnownHold {
  readonly cost: number
  readonly kind: HoldKind
}

/**
 * One question to a store. Its charges are of distinct subjects, and are decided as one.
 *
 * - `take`: spend the cost of every charge, or of none. With `copies` above 1 (one charge, no hold), do that as many
 *   times as passes, up to `copies`. With a hold whose id is known, only what it does not have yet is spent. Without a
 *   hold, a concurrency limit must have room but no permit is taken.
 * - `peek`: what `take` would say, without spending.
 * - `settle`: end the hold `id`, having really spent the charges' costs. `extend`: let it live for `ttlUs` from now;
 *   one that is `pending` is confirmed by it.
 * - `resize`: let the hold `id` have taken the charges' costs instead of what it took, and stay open.
 * - `refund`: return the charges' costs, spent at `takenUs` or just now. `reset`: forget the subjects.
 * - `debit`: spend `units[l]` of limit `l` of the one charge, whether they fit or not: they were spent while the store
 *   was away.
 * - `block`: let nothing of the subjects pass for `forUs` from now; 0 ends their blocks, and `granted` is how many.
 * - `raise`: let each calendar limit of the one charge have at least `units` spent in its present period.
 */
export type Ask =
  | TakeAsk
  | PeekAsk
  | SettleAsk
  | ResizeAsk
  | ExtendAsk
  | RefundAsk
  | ResetAsk
  | DebitAsk
  | RaiseAsk
  | BlockAsk

export interface TakeAsk {
  readonly kind: 'take'
  readonly charges: readonly Charge[]
  readonly copies: number
  readonly hold: HoldRequest | undefined
}
export interface PeekAsk {
  readonly kind: 'peek'
  readonly charges: readonly Charge[]
}
export interface SettleAsk {
  readonly kind: 'settle'
  readonly charges: readonly Charge[]
  readonly id: string
}
export interface ResizeAsk {
  readonly kind: 'resize'
  readonly charges: readonly Charge[]
  readonly id: string
}
export interface ExtendAsk {
  readonly kind: 'extend'
  readonly charges: readonly Charge[]
  readonly id: string
  readonly ttlUs: number
}
export interface RefundAsk {
  readonly kind: 'refund'
  readonly charges: readonly Charge[]
  readonly takenUs: number | undefined
}
export interface ResetAsk {
  readonly kind: 'reset'
  readonly charges: readonly Charge[]
}

export interface DebitAsk {
  readonly kind: 'debit'
  readonly charges: readonly Charge[]
  readonly units: readonly number[]
}

export interface RaiseAsk {
  readonly kind: 'raise'
  readonly charges: readonly Charge[]
  readonly units: number
}

export interface BlockAsk {
  readonly kind: 'block'
  readonly charges: readonly Charge[]
  readonly forUs: number
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
