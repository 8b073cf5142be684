import type { HotKey, Stats } from '../../shapes/stats.ts'
import { outOfReach } from '../cli-error.ts'
import type { DaemonHttp } from '../target/daemon-http.ts'
import { pipelinesOf, upstreamsOf } from './reported-parts.ts'
import type { Snapshot } from './snapshot.ts'

/** More keys than are shown, so that one that rises is known from before. */
const keysPerRule = 100

/** The last whole seconds of a report; the present one is not over. */
const wholeSeconds = { from: -6, to: -1 } as const

/** A process reports at least every five seconds, and one that is not heard of is forgotten after ten. */
const overdueMs = 6000

/** Asks a daemon how all processes of its service stand. */
export async function readSnapshot(
  daemon: Pick<DaemonHttp, 'json' | 'address'>,
  nowMs: () => number = () => performance.now(),
): Promise<Snapshot> {
  const answer = (await daemon.json('GET', `/v1/stats?top=${keysPerRule}`)) as Stats
  if (answer?.decisions === undefined) throw outOfReach(`${daemon.address} does not answer as a Sluice daemon does`)
  const { service, policy, store, decisions, replicas, rules } = answer
  const reports = limiterReports(replicas)
  const ages = reports.map(({ ageMs }) => ageMs)
  const keys = (list: 'hottest' | 'mostDenied'): HotKey[] => rules.flatMap((rule) => rule[list])
  return {
    // The figures are those of the reports, and as old as these.
    atMs: nowMs() - ages.reduce((sum, ageMs) => sum + ageMs, 0) / Math.max(1, ages.length),
    service,
    policyVersion: policy.version,
    store: store.ok ? store.name : `${store.name} (failing)`,
    replicas: replicas.length,
    overdueMs: replicas.map(({ ageMs }) => ageMs).filter((ageMs) => ageMs > overdueMs),
    upstreams: upstreamsOf(replicas),
    pipelines: pipelinesOf(replicas),
    perSecond: { allowed: rateOf(reports, 0), denied: rateOf(reports, 1), degraded: rateOf(reports, 2) },
    allowed: decisions.allowed,
    denied: decisions.denied,
    degraded: decisions.degraded,
    used: keys('hottest'),
    deniedKeys: keys('mostDenied'),
  }
}

interface LimiterReport {
  readonly ageMs: number
  readonly recent: readonly (readonly number[])[]
}

/** What limiters report of their last seconds. Other versions may report something else. */
function limiterReports(replicas: Stats['replicas']): LimiterReport[] {
  return replicas.flatMap(({ parts, ageMs }) =>
    parts.flatMap(({ kind, stats }) => {
      const { recent } = (stats ?? {}) as Partial<LimiterReport>
      return kind === 'limiter' && Array.isArray(recent) && recent.every(Array.isArray) ? [{ ageMs, recent }] : []
    }),
  )
}

/**
 * The sum of the rates of all processes, each over its own last whole seconds: reports are of different ages, so no
 * second of the clock here is whole in all of them. A process whose report is overdue may have died.
 */
function rateOf(reports: readonly LimiterReport[], what: 0 | 1 | 2): number {
  const { from, to } = wholeSeconds
  return (
    reports
      .filter(({ ageMs }) => ageMs <= overdueMs)
      .flatMap(({ recent }) => recent.slice(from, to))
      .reduce((sum, second) => sum + (Number.isFinite(second[what]) ? second[what]! : 0), 0) /
    (to - from)
  )
}
