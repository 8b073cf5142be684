import type { Decision, Explanation, Limiter, RequestView } from 'sluice'
import type { LivePolicy } from 'sluice/policy'
import { keyShapes } from './overrides/key-shapes.ts'

type Rule = Explanation['rules'][number] & {
  /** The tier comes from what was not given, so that the limits are not known. */
  readonly tierUnknown: boolean
}

/** An explanation that says where it does not know the limits. */
export interface Explained extends Pick<Explanation, 'service' | 'policyVersion'> {
  readonly rules: readonly Rule[]
  /** Undefined where it depends on a tier that is not known. */
  readonly decision: Decision | undefined
}

/** Explains a request. One whose context was not given, or not in full, does not tell the tiers that are there. */
export async function explainRequest(limiter: Limiter, policy: LivePolicy, request: RequestView): Promise<Explained> {
  const explanation = await limiter.explain(request)
  const shapes = keyShapes(policy.document?.parsed)
  const rules = explanation.rules.map((rule) => {
    const { tierBy, lookup } = shapes.get(rule.rule) ?? {}
    const isNotHere = lookup !== undefined && policy.current.lookups === undefined
    const compiled = policy.current.rule(rule.rule)
    const tierUnknown =
      rule.key !== undefined &&
      compiled?.isTierUnknown(rule.key.slice(compiled.prefix.length), Date.now(), request) === true
    if (!tierUnknown) return { ...rule, tierUnknown }
    const origin = isNotHere ? `the lookup ${lookup}, which is not here` : `${tierBy}, which was not given`
    const why = `${rule.why}; its tier comes from ${origin}`
    return { ...rule, why, tier: undefined, limits: [], fixed: undefined, tierUnknown }
  })
  return { ...explanation, rules, decision: certain(explanation.decision, rules) }
}

/** The decision, unless a rule whose limits are not known could change it. */
export function certain(decision: Decision, rules: readonly Rule[]): Decision | undefined {
  const open = rules.filter(({ mode, tierUnknown }) => tierUnknown && mode === 'enforce')
  const isCertain = open.length === 0 || (!decision.allowed && open.every(({ rule }) => rule !== decision.rule))
  return isCertain ? decision : undefined
}
