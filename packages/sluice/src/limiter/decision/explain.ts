import type { Charge } from '../../core/engine/ask.ts'
import type { CompiledPolicy, RuleTrace } from '../../policy/compiled-policy.ts'
import type { RequestView } from '../../policy/request-view.ts'
import type { Store } from '../../stores/store.ts'
import type { Explanation } from '../limiter.ts'
import { refused, toDecision, unmatched } from './to-decision.ts'

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
      charge === undefined ? undefined : store.decide({ kind: 'peek', charges: [charge] }, withinMs),
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
  }))
  const enforced = charges.filter(
    (charge, t): charge is Charge => charge !== undefined && traces[t]!.mode === 'enforce',
  )
  const refusing = traces.find((trace) => trace.refuses)
  const decision = refusing
    ? refused(refusing.rule, policy.version)
    : enforced.length === 0
      ? unmatched(policy.version)
      : toDecision(enforced, await store.decide({ kind: 'peek', charges: enforced }, withinMs), policy.version)
  return { service: policy.service, policyVersion: policy.version, rules, decision }
}

function chargeOf({ match }: RuleTrace): Charge | undefined {
  return match && { rule: match.rule, subject: match.subject, limits: match.limits, cost: match.cost }
}
