import type { Answer } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import type { RuleCharge } from '../../policy/compiled-policy.ts'
import type { Store } from '../../stores/store.ts'
import type { Inspection } from '../limiter.ts'

/** What a store knows about one subject, from a peek. */
export function toInspection(
  { rule, subject, limits }: RuleCharge,
  answer: Answer | undefined,
  tierUnknown = false,
): Inspection {
  const fixed = tierUnknown ? undefined : limits.fixed
  const degraded = answer?.failure !== undefined
  const known = { key: rule.prefix + subject, rule: rule.name, fixed, tierUnknown, degraded }
  if (!answer) return { ...known, limits: [], holds: [] }
  const holds = (answer.holds?.[0] ?? []).map(({ id, cost, expiresUs }) => ({
    id,
    cost,
    expiresInMs: Math.ceil((expiresUs - answer.nowUs) / 1000),
  }))
  return { ...known, limits: answer.statuses[0]!, holds }
}

/** What a store knows of a subject. Where classes share its limit, the shares of all of them. */
export async function peekAll(
  charge: RuleCharge,
  tier: string | undefined,
  nowMs: number,
  store: Pick<Store, 'decide'>,
  withinMs: number,
): Promise<Answer> {
  const { rule, subject } = charge
  const sets = rule.classes?.map((name) => rule.limitsFor(subject, tier, nowMs, name)) ?? [charge.limits]
  const peeks = sets.map((limits) =>
    store.decide({ kind: 'peek', charges: [changeCharge(charge, { limits })] }, withinMs),
  )
  const [first, ...more] = await Promise.all(peeks)
  const [total, own, ...rest] = first!.statuses[0]!
  if (more.length === 0 || own === undefined) return first!
  return { ...first!, statuses: [[total!, own, ...more.flatMap(({ statuses }) => statuses[0]![1] ?? []), ...rest]] }
}
