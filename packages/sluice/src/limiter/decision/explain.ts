import type { Charge } from '../../core/engine/ask.ts'
import type { CompiledPolicy, RuleTrace } from '../../policy/compiled-policy.ts'
import type { RequestView } from '../../policy/request-view.ts'
import type { Store } from '../../stores/store.ts'
import type { Explanation } from '../limiter.ts'
import { isCounted } from './charges.ts'
import type { Decision } from './decision.ts'
import { noShadow, refused, toDecision, unlimited, unmatched } from './to-decision.ts'

/** Which rules apply to a request, why, and what is left of their limits, without spending. */
export async function explain(
  policy: CompiledPolicy,
  request: RequestView,
  store: Pick<Store, 'decide'>,
  withinMs: number,
  nowMs: number,
): Promise<Explanation> {
  const traces = policy.explain(request, nowMs)
  const charges = traces.map(chargeOf)
  const answers = await Promise.all(
    charges.map((charge) =>
      charge === undefined || !isCounted(charge)
        ? undefined
        : store.decide({ kind: 'peek', charges: [charge] }, withinMs),
    ),
  )
  const rules = traces.map((trace, t) => ({
    rule: trace.rule,
    mode: trace.mode,
    matched: trace.matched,
    why: trace.why,
    key: charges[t] && charges[t].rule.prefix + charges[t].subject,
    tier: trace.match?.tier,
    cost: trace.match?.cost,
    limits: answers[t]?.statuses[0] ?? [],
    fixed: charges[t]?.limits.fixed,
  }))
  const applied = charges.filter((charge, t): charge is Charge => charge !== undefined && traces[t]!.mode === 'enforce')
  const missing = traces.find((trace) => trace.refuses)
  const decision = missing
    ? refused({ rule: missing.rule, reason: 'missing-key' }, policy.version)
    : await peekAt(applied, policy.version, store, withinMs)
  return { service: policy.service, policyVersion: policy.version, rules, decision }
}

/** What would be decided on charges now. */
export async function peekAt(
  charges: readonly Charge[],
  policyVersion: string,
  store: Pick<Store, 'decide'>,
  withinMs: number,
): Promise<Decision> {
  const denied = charges.find(({ limits }) => limits.fixed === 'deny')
  if (denied) return refused({ rule: denied.rule.name, reason: 'forbidden' }, policyVersion)
  const counted = charges.filter(isCounted)
  if (counted.length > 0)
    return toDecision(counted, await store.decide({ kind: 'peek', charges: counted }, withinMs), policyVersion)
  return charges[0] ? unlimited(charges[0].rule.name, policyVersion, noShadow) : unmatched(policyVersion)
}

function chargeOf({ match }: RuleTrace): Charge | undefined {
  return match && { rule: match.rule, subject: match.subject, limits: match.limits, cost: match.cost }
}
