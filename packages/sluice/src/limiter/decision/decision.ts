import type { AnsweredBy, LimitStatus } from '../../core/engine/ask.ts'
import type { FailureKind } from '../../core/errors.ts'

/**
 * Why a request was denied. `quota`: a limit is used up. `unavailable`: the store failed and the rule is closed.
 * `missing-key`: the request lacks what the rule's key is made of, and the rule says `onMissing: deny`.
 * `forbidden`: the policy says `limits: deny` for the key. `blocked`: the key is blocked for a while.
 */
export type DenialReason = 'quota' | 'blocked' | 'unavailable' | 'missing-key' | 'forbidden'

export type Reason = 'allowed' | DenialReason

/**
 * What decided. `store`, or without a round trip a `lease` or the `deny-cache`; while the store fails, by the rules'
 * `onStoreFailure`: `local`, `recount`, `open` or `closed`. `policy`: no rule applied, a key was missing, or the
 * limits are `unlimited` or `deny`, so that nothing had to be counted.
 */
export type DecidedBy = AnsweredBy | 'policy'

/** What a shadow rule would have done. */
export interface ShadowDecision {
  readonly rule: string
  readonly allowed: boolean
  readonly limits: readonly LimitStatus[]
}

interface DecisionDetails {
  /** Every limit that was looked at, of every rule. */
  readonly limits: readonly LimitStatus[]
  /** Until the same request would pass: 0 when it was allowed, `Infinity` (in JSON: null) when it never can. */
  readonly retryAfterMs: number
  readonly by: DecidedBy
  /** Made without the store, by the rules' `onStoreFailure`. */
  readonly degraded: boolean
  /** How the store failed, when degraded. */
  readonly failure: FailureKind | undefined
  /** What shadow rules would have done. */
  readonly shadow: readonly ShadowDecision[]
  /** The version of the policy that was in force. */
  readonly policyVersion: string
}

export interface AllowedDecision<Rule extends string = string> extends DecisionDetails {
  readonly allowed: true
  readonly reason: 'allowed'
  /** The first rule that was charged; undefined when none applied. */
  readonly rule: Rule | undefined
}

export interface DeniedDecision<Rule extends string = string> extends DecisionDetails {
  readonly allowed: false
  readonly reason: DenialReason
  /** The rule that denied. */
  readonly rule: Rule
}

/** Allowed or denied, and everything that was looked at to decide. */
export type Decision<Rule extends string = string> = AllowedDecision<Rule> | DeniedDecision<Rule>
