import type { LivePolicy } from '../policy/live-policy.ts'
import type { Guard } from '../stores/guard.ts'
import type { Health } from './limiter.ts'

/** How the limiter is, for readiness probes and people. */
export async function limiterHealth(guard: Guard, live: LivePolicy, withinMs: number): Promise<Health> {
  const store = await guard.health(withinMs)
  const policy = live.status
  const warnings = [...store.warnings]
  if (policy.lastError !== undefined)
    warnings.push(
      `The policy in force is version ${policy.version}; newer is refused or out of reach: ${policy.lastError.message}`,
    )
  return {
    ok: store.reachable && guard.breaker === 'closed',
    store: { ...store, name: guard.name, breaker: guard.breaker, lastContactMs: guard.lastContactMs },
    policy,
    warnings,
  }
}
