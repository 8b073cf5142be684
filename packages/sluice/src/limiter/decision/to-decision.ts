import type { Answer, ChargeTerms, LimitStatus, OnStoreFailure } from '../../core/engine/ask.ts'
import type { Refusal } from './charges.ts'
import type { DecidedBy, Decision, Reason, ShadowDecision } from './decision.ts'

/** Of most decisions: no shadow rule took part. */
export const noShadow: readonly ShadowDecision[] = Object.freeze([])
const noLimits: readonly LimitStatus[] = Object.freeze([])

/** The decision when no rule applies. */
export function unmatched(policyVersion: string, shadow: readonly ShadowDecision[] = noShadow): Decision {
  return make(true, 'allowed', undefined, noLimits, 0, 'policy', undefined, shadow, policyVersion)
}

/** The decision when nothing has to be counted: the rules that apply are unlimited. */
export function unlimited(rule: string, policyVersion: string, shadow: readonly ShadowDecision[]): Decision {
  return make(true, 'allowed', rule, noLimits, 0, 'policy', undefined, shadow, policyVersion)
}

/** The decision when a rule refuses without counting: its key is missing, or its limits are `deny`. */
export function refused({ rule, reason }: Pick<Refusal, 'rule' | 'reason'>, policyVersion: string): Decision {
  return make(false, reason, rule, noLimits, Infinity, 'policy', undefined, noShadow, policyVersion)
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
  let block: LimitStatus | undefined
  for (const status of limits) {
    if (status.block) block = status
    if (status.retryAfterMs > (denying?.retryAfterMs ?? 0)) denying = status
  }
  const without = denying === undefined && answer.failure !== undefined
  const reason = block ? 'blocked' : without ? 'unavailable' : 'quota'
  const rule = (block ?? denying)?.rule ?? closedRule(charges) ?? charges[0]!.rule.name
  return make(false, reason, rule, limits, denying?.retryAfterMs ?? 0, by, answer.failure, shadow, policyVersion)
}

/**
 * The same for one charge, as a promise. The object is made where the promise is resolved with it: V8 then knows that
 * it has no `then`, and does not look for one.
 */
export function promiseDecision({ rule }: ChargeTerms, answer: Answer, policyVersion: string): Promise<Decision> {
  const { allowed, failure } = answer
  const limits = answer.statuses[0]!
  let retryAfterMs = 0
  let denial: Reason = 'quota'
  if (!allowed) {
    for (const status of limits) {
      if (status.block) denial = 'blocked'
      if (status.retryAfterMs > retryAfterMs) retryAfterMs = status.retryAfterMs
    }
    if (retryAfterMs === 0 && failure !== undefined) denial = 'unavailable'
  }
  // With the fields in the order of `make`, it has the same hidden class.
  return Promise.resolve({
    allowed,
    reason: allowed ? 'allowed' : denial,
    rule: rule.name,
    limits,
    retryAfterMs,
    by: answer.by ?? 'store',
    degraded: failure !== undefined,
    failure,
    shadow: noShadow,
    policyVersion,
  } as Decision)
}

/** What a shadow rule would have done; without an answer, by limits that need none. */
export function toShadow({ rule, limits }: ChargeTerms, answer: Answer | undefined): ShadowDecision {
  if (!answer) return { rule: rule.name, allowed: limits.fixed === 'unlimited', limits: noLimits }
  return { rule: rule.name, allowed: answer.allowed, limits: answer.statuses[0]! }
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
