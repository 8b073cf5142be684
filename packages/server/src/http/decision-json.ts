import type { Decision, Explanation } from 'sluice'
import type { Decision as DecisionJson, Explanation as ExplanationJson } from './shapes/decisions.ts'

/** What Retry-After says, too, while the store is away. */
const unavailableMs = 1000

/** A decision as JSON, which turns `Infinity` into null by itself; what is undefined is said to be null. */
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

export function explanationJson({ service, policyVersion, rules, decision }: Explanation): ExplanationJson {
  return {
    service,
    policyVersion,
    rules: rules.map(({ key, tier, cost, ...rest }) => ({
      ...rest,
      key: key ?? null,
      tier: tier ?? null,
      cost: cost ?? null,
    })),
    decision: decisionJson(decision),
  }
}
