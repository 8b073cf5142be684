import { hostname } from 'node:os'
import type { Limiter } from 'sluice'
import { parseReadableKey } from 'sluice/internal'
import type { LimiterCounter, LimiterStats, ReceivedReport, RuleStats } from 'sluice/reports'
import type { Overview } from '../shapes/page.ts'
import { fleetStats, isLimiter } from './fleet/fleet.ts'
import type { Live } from './live.ts'
import type { RecentDenials } from './recent-denials.ts'

/** What rules decided in all processes: this one in full, others as they report. */
export function fleetRules(live: Live, counter: LimiterCounter, top: number, only?: string): readonly RuleStats[] {
  const own: ReceivedReport = {
    ageMs: 0,
    report: {
      ...{ v: 1, service: '', replica: '', host: '', pid: 0, startedAt: 0, omitted: [] },
      sections: [
        {
          kind: 'limiter',
          name: 'default',
          stats: { ...counter.stats(), rules: counter.counts.rules(top, only) } as never,
        },
      ],
    },
  }
  return fleetStats([own, ...live.fleet.reports], top, 0).rules
}

/** The keys that are denied most, with the store asked for each when it would pass. */
export async function refusedKeys(
  rules: readonly RuleStats[],
  limiter: Limiter,
  denials: RecentDenials,
  top: number,
): Promise<Overview['refused']> {
  const denied = rules
    .flatMap(({ rule, mostDenied, keysOverMs }) =>
      // Counts may be too high by `error`: only what is certain is shown.
      mostDenied.map(({ key, count, error }) => ({
        rule,
        key,
        perSecond: (count - error) / Math.max(1, keysOverMs / 1000),
      })),
    )
    .filter(({ perSecond }) => perSecond > 0)
    .sort((a, b) => b.perSecond - a.perSecond)
  const keys = await Promise.all(
    denied.slice(0, top).map(async (each) => ({ ...each, ...(await passes(limiter, denials, each)) })),
  )
  return { keys, seen: denied.length }
}

type Passes = Pick<Overview['refused']['keys'][number], 'limit' | 'passesInMs'>

async function passes(
  limiter: Limiter,
  denials: RecentDenials,
  { rule, key }: { readonly rule: string; readonly key: string },
): Promise<Passes> {
  try {
    const parsed = parseReadableKey(key)
    const { limits, degraded, tierUnknown } = await limiter.inspect(parsed.key, { rule: parsed.rule })
    if (tierUnknown) return asDenied(denials, rule, key, limiter.clock.now() / 1000)
    if (degraded) return { limit: null, passesInMs: null }
    const [full] = [...limits].sort((a, b) => b.retryAfterMs - a.retryAfterMs)
    if (full === undefined || full.retryAfterMs === 0) return { limit: null, passesInMs: 0 }
    return { limit: full.name, passesInMs: Number.isFinite(full.retryAfterMs) ? full.retryAfterMs : null }
  } catch {
    // A rule that the policy no longer has, or a store that is away.
    return { limit: null, passesInMs: null }
  }
}

/** By its last denial: with which tier a key comes, only its requests say. */
function asDenied(denials: RecentDenials, rule: string, key: string, nowMs: number): Passes {
  const last = denials.of(rule).find((each) => each.key === key)
  if (last === undefined || last.retryAfterMs === null) return { limit: last?.limit ?? null, passesInMs: null }
  return { limit: last.limit, passesInMs: Math.max(0, last.at + last.retryAfterMs - nowMs) }
}

/** All processes that report, this one first. */
export function replicasOf(live: Live, replica: string, own: LimiterStats): Overview['replicas'] {
  const others = live.fleet.reports.map(({ report, ageMs }) => {
    const stats = report.sections.find(isLimiter)?.stats
    return {
      ...{ replica: report.replica, host: report.host, pid: report.pid, isShown: false, ageMs },
      policyVersion: textOrNull(stats?.policy?.version),
      breaker: textOrNull(stats?.breaker),
    }
  })
  const shown = { replica, host: hostname(), pid: process.pid, isShown: true, ageMs: 0 }
  return [{ ...shown, policyVersion: own.policy.version, breaker: own.breaker }, ...others]
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
