import type { Decision, PolicyDocument } from 'sluice'
import type { Setup } from './contender.ts'

/** The policy of the setup. */
export function benchPolicyOf({ prefix, limits, lease, daily, fixed, plans }: Setup): PolicyDocument {
  if (daily !== undefined) return dailyPolicy(prefix, limits[0]!.amount, daily)
  const spec = limits.map(({ amount, seconds }) => ({ name: `per-${seconds}s`, amount, per: `${seconds}s` as const }))
  if (fixed === 'unlimited' || fixed === 'deny') return { service: prefix, rules: [{ name: 'bench', limits: fixed }] }
  const block = fixed === 'block' ? { block: { for: '1d' } as const } : {}
  const tier = plans === undefined ? {} : { tier: { lookup: 'plans' }, tiers: { plan: spec } }
  return { service: prefix, rules: [{ name: 'bench', limits: spec, lease: lease === true, ...block, ...tier }] }
}

function dailyPolicy(service: string, amount: number, daily: 'cap' | 'paced'): PolicyDocument {
  const limits = { amount, per: 'day', name: 'per-day', ...(daily === 'paced' ? { pace: { burst: amount } } : {}) }
  return { service, rules: [{ name: 'bench', limits, onStoreFailure: daily === 'cap' ? 'recount' : 'closed' }] }
}

/** A decision that was made without the store would make Sluice look faster than it is. */
export function allowedExactly(decision: Decision): boolean {
  if (decision.degraded) throw new Error(`a decision was made without the store: ${decision.failure}`)
  return decision.allowed
}
