import type { HoldKind } from '../algorithms/state.ts'
import type { LimitSet } from './limit-set.ts'

export type { Answer, AnsweredBy, KnownHold, LimitStatus } from './answer.ts'

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
