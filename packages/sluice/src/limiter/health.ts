import type { ChargedRule } from '../core/engine/ask.ts'
import { policyWarnings } from '../policy/compile/policy-warnings.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import { missingRight } from '../redis/missing-right.ts'
import type { FallbackStore } from '../stores/callback-store.ts'
import type { Recounts } from '../stores/recount/recount.ts'
import type { FailingSource } from '../stores/recount/recounting.ts'
import type { StoreHealth } from '../stores/store.ts'
import type { LimiterHealth } from './limiter.ts'

/** A source of truth that failed so long ago, and was not asked since, no longer makes a limiter unwell. */
const failingMs = 10_000

export interface HealthParts {
  readonly fallback: FallbackStore
  readonly askStore: () => Promise<StoreHealth>
  readonly live: LivePolicy
  readonly recounts: Recounts
  readonly failingSources: () => readonly FailingSource[]
  /** Rules that code names and the policy no longer has. */
  readonly dropped: Iterable<string>
  readonly sawRequests: boolean
  readonly isClosed: boolean
}

/** How the limiter is, for readiness probes and people. */
export async function limiterHealth(parts: HealthParts): Promise<LimiterHealth> {
  const { fallback, live, recounts, dropped, sawRequests } = parts
  if (parts.isClosed) return closedHealth(parts)
  const store = await parts.askStore()
  // Decisions may not have noticed yet that the store is back: without any of them nothing else asks it.
  const lastContactMs = store.reachable ? 0 : fallback.lastContactMs
  const policy = live.status
  const warnings = [...store.warnings]
  if (policy.lastError !== undefined)
    warnings.push(
      `The policy in force is version ${policy.version}; newer is refused or out of reach: ${policy.lastError.message}`,
    )
  if (sawRequests) warnings.push(...policyWarnings(live.current))
  warnings.push(...recountWarnings(live.current.rules, recounts))
  const failing = parts.failingSources()
  for (const { rule, error, agoMs } of failing)
    warnings.push(
      `What needed the source of truth of the rule ${rule} was denied ${Math.round(agoMs / 1000)} s ago: ${error.message}`,
    )
  for (const rule of dropped)
    warnings.push(`Code names the rule ${rule}, which the policy no longer has: what is asked for it is allowed.`)
  const right = missingRight(fallback.failure)
  const reasons = [
    ...(right === undefined ? [] : [right]),
    ...(store.reachable ? [] : [`The ${fallback.name} store does not answer.`]),
    ...(store.reachable && store.ok === false ? [`The ${fallback.name} store cannot decide on everything.`] : []),
    ...(fallback.breaker === 'closed' ? [] : [`The breaker before the ${fallback.name} store is ${fallback.breaker}.`]),
    ...failing
      .filter(({ agoMs }) => agoMs <= failingMs)
      .map(({ rule }) => `The source of truth of the rule ${rule} fails.`),
  ]
  return {
    ready: reasons.length === 0,
    reasons,
    store: { ...store, name: fallback.name, breaker: fallback.breaker, lastContactMs },
    policy,
    warnings,
  }
}

function closedHealth({ fallback, live }: HealthParts): LimiterHealth {
  const { name, breaker, lastContactMs } = fallback
  return {
    ready: false,
    reasons: ['The limiter is closed.'],
    store: { reachable: false, roundTripMs: 0, warnings: [], details: {}, name, breaker, lastContactMs },
    policy: live.status,
    warnings: [],
  }
}

/** Rules and functions that recount and do not find each other. */
function recountWarnings(rules: readonly ChargedRule[], recounts: Recounts): string[] {
  const recounted = rules.filter(({ onStoreFailure }) => onStoreFailure === 'recount').map(({ name }) => name)
  const named = Object.keys(recounts)
  return [
    ...recounted
      .filter((name) => !named.includes(name))
      .map(
        (name) =>
          `The rule ${name} says onStoreFailure: recount, but createLimiter has no recount.${name}: it is closed.`,
      ),
    ...named
      .filter((name) => !recounted.includes(name))
      .map((name) => `Code recounts the rule ${name}, but no rule of that name says onStoreFailure: recount.`),
  ]
}
