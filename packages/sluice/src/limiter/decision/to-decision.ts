import type { Answer, ChargeTerms, LimitStatus, OnStoreFailure } from '../../core/engine/ask.ts'
import type { DecidedBy, Decision, Reason, ShadowDecision } from './decision.ts'

/** Of most decisions: no shadow rule took part. */
export const noShadow: readonly ShadowDecision[] = Object.freeze([])
const noLimits: readonly LimitStatus[] = Object.freeze([])

/** The decision when no rule applies. */
export function unmatched(policyVersion: string, shadow: readonly ShadowDecision[] = noShadow): Decision {
  return make(true, 'allowed', undefined, noLimits, 0, 'policy', undefined, shadow, policyVersion)
}

/** The decision when a rule's key cannot be made and the rule says `onMissing: deny`. */
export function refused(rule: string, policyVersion: string): Decision {
  return make(false, 'missing-key', rule, noLimits, Infinity, 'policy', undefined, noShadow, policyVersion)
}

/** Makes the decision for the caller from an answer of the store. */
export function toDecision(
  charges: readonly ChargeTerms[],
  answer: Answer,
  policyVersion: string,
  shadow: readonly ShadowDecision[] = noShadow,
): Decision {
  const limits = charges.length === 1 ? answer.statuses[0]! : answer.statuses.flat()
  const by = answer.by ?? 'store'
  if (answer.allowed)
    return make(true, 'allowed', charges[0]!.rule.name, limits, 0, by, answer.failure, shadow, policyVersion)
  let denying: LimitStatus | undefined
  for (const status of limits) if (status.retryAfterMs > (denying?.retryAfterMs ?? 0)) denying = status
  const reason = denying === undefined && answer.failure !== undefined ? 'unavailable' : 'quota'
  const rule = denying?.rule ?? closedRule(charges) ?? charges[0]!.rule.name
  return make(false, reason, rule, limits, denying?.retryAfterMs ?? 0, by, answer.failure, shadow, policyVersion)
}

/** The decision on a request whose only rules watch. */
export function toShadow(charge: ChargeTerms, answer: Answer): ShadowDecision {
  return { rule: charge.rule.name, allowed: answer.allowed, limits: answer.statuses[0]! }
}

function closedRule(charges: readonly ChargeTerms[]): string | undefined {
  const of = (mode: OnStoreFailure) => charges.find(({ rule }) => rule.onStoreFailure === mode)?.rule.name
  return of('closed') ?? of('recount')
}

// One literal for all decisions, so that they all have one hidden class.
function make(
  allowed: boolean,
  reason: Reason,
  rule: string | undefined,
  limits: readonly LimitStatus[],
  retryAfterMs: number,
  by: DecidedBy,
  failure: Decision['failure'],
  shadow: readonly ShadowDecision[],
  policyVersion: string,
): Decision {
  return {
    allowed,
    reason,
    rule,
    limits,
    retryAfterMs,
    by,
    degraded: failure !== undefined,
    failure,
    shadow,
    policyVersion,
  } as Decision
}
