import type { LimitStatus } from '../../core/engine/ask.ts'
import type { FailureKind } from '../../core/errors.ts'

/**
 * Why a decision is what it is. `quota`: a limit is used up. `unavailable`: the store failed and the rule is closed.
 * `missing-key`: the request lacks what the rule's key is made of, and the rule says `onMissing: deny`.
 */
export type Reason = 'allowed' | 'quota' | 'unavailable' | 'missing-key'

/** What a shadow rule would have done. */
export interface ShadowDecision {
  readonly rule: string
  readonly allowed: boolean
  readonly limits: readonly LimitStatus[]
}

/** Allowed or denied, and everything that was looked at to tell. */
export interface Decision {
  readonly allowed: boolean
  readonly reason: Reason
  /** The rule that decided: the one that denied, else the first that was charged; undefined when none applied. */
  readonly rule: string | undefined
  /** Every limit that was looked at, of every rule. */
  readonly limits: readonly LimitStatus[]
  /** Until the same request would pass: 0 when it was allowed, `Infinity` when it never can. */
  readonly retryAfterMs: number
  /** Made without the store, by the rules' `onStoreFailure`. */
  readonly degraded: boolean
  /** How the store failed, when degraded. */
  readonly failure: FailureKind | undefined
  /** What shadow rules would have done. */
  readonly shadow: readonly ShadowDecision[]
  /** The version of the policy that was in force. */
  readonly policyVersion: string
}
