import { policyWarnings } from '../policy/compile/policy-warnings.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import type { FallbackStore } from '../stores/fallback/fallback.ts'
import type { Health, Limiter } from './limiter.ts'

/** How the limiter is, for readiness probes and people. */
export async function limiterHealth(
  fallback: FallbackStore,
  live: LivePolicy,
  dropped: Iterable<string>,
  sawRequests: boolean,
  withinMs: number,
): Promise<Health> {
  const store = await fallback.health(withinMs)
  const policy = live.status
  const warnings = [...store.warnings]
  if (policy.lastError !== undefined)
    warnings.push(
      `The policy in force is version ${policy.version}; newer is refused or out of reach: ${policy.lastError.message}`,
    )
  if (sawRequests) warnings.push(...policyWarnings(live.current))
  for (const rule of dropped)
    warnings.push(`Code names the rule ${rule}, which the policy no longer has: what is asked for it is allowed.`)
  return {
    ok: store.reachable && fallback.breaker === 'closed',
    store: { ...store, name: fallback.name, breaker: fallback.breaker, lastContactMs: fallback.lastContactMs },
    policy,
    warnings,
  }
}

/** The policy that is in force now, for those who decide with it. */
export function describePolicy(live: LivePolicy): Limiter['policy'] {
  const { service, rules, readsBody } = live.current
  return {
    get status() {
      return live.status
    },
    service,
    rules: rules.map((rule) => rule.name),
    readsBody,
  }
}
