import type { Decision, PolicyDocument } from 'sluice'
import type { Setup } from './contender.ts'

/** The policy that says what the setup asks for. */
export function benchPolicyOf({ prefix, limits, lease }: Setup): PolicyDocument {
  const spec = limits.map(({ amount, seconds }) => ({ name: `per-${seconds}s`, amount, per: `${seconds}s` as const }))
  return { service: prefix, rules: [{ name: 'bench', limits: spec, lease: lease === true }] }
}

/** A decision that was made without the store would make Sluice look faster than it is. */
export function allowedExactly(decision: Decision): boolean {
  if (decision.degraded) throw new Error(`a decision was made without the store: ${decision.failure}`)
  return decision.allowed
}
