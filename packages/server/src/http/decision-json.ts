import type { Decision, LimitStatus } from 'sluice'
import type { Explained } from '../policy/explain-request.ts'
import type {
  Decision as DecisionJson,
  Explanation as ExplanationJson,
  Limit as LimitJson,
} from '../shapes/decisions.ts'

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
    limits: limitsJson(limits),
    shadow: shadow.length === 0 ? [] : shadow.map((each) => ({ ...each, limits: limitsJson(each.limits) })),
  }
}

/** Limits as JSON, with dates as texts. */
export function limitsJson(limits: readonly LimitStatus[]): LimitJson[] {
  return limits.map((limit) => {
    const { period, ...rest } = limit
    if (period === undefined) return rest
    return { ...rest, period: { start: period.start.toISOString(), end: period.end.toISOString() } }
  })
}

export function explanationJson({ service, policyVersion, rules, decision }: Explained): ExplanationJson {
  return {
    service,
    policyVersion,
    rules: rules.map(({ key, tier, cost, fixed, limits, ...rest }) => ({
      ...rest,
      limits: limitsJson(limits),
      key: key ?? null,
      tier: tier ?? null,
      cost: cost ?? null,
      fixed: fixed ?? null,
    })),
    decision: decision ? decisionJson(decision) : null,
  }
}
