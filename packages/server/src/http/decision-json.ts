import type { Decision, LimitStatus } from 'sluice'

/** A decision as JSON. A wait that never ends is `null`, as JSON has no infinity. */
export interface DecisionJson {
  readonly allowed: boolean
  readonly reason: Decision['reason']
  readonly rule: string | null
  readonly retryAfterMs: number | null
  readonly by: Decision['by']
  readonly degraded: boolean
  readonly failure: string | null
  readonly policyVersion: string
  readonly limits: readonly LimitJson[]
  readonly shadow: readonly {
    readonly rule: string
    readonly allowed: boolean
    readonly limits: readonly LimitJson[]
  }[]
}

export type LimitJson = Omit<LimitStatus, 'retryAfterMs'> & { readonly retryAfterMs: number | null }

/** What Retry-After says, too, while the store is away. */
const unavailableMs = 1000

/** JSON turns `Infinity` into null by itself; what is undefined is said to be null. */
export function decisionJson(decision: Decision): DecisionJson {
  const { allowed, reason, rule, retryAfterMs, by, degraded, failure, policyVersion, limits, shadow } = decision
  return {
    allowed,
    reason,
    rule: rule ?? null,
    // It is not known when the store will be back, and retrying at once would not help.
    retryAfterMs: reason === 'unavailable' ? Math.max(retryAfterMs, unavailableMs) : retryAfterMs,
    by,
    degraded,
    failure: failure ?? null,
    policyVersion,
    limits,
    shadow,
  }
}
