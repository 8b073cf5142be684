import type { HotKey, Stats } from '../../shapes/stats.ts'
import { outOfReach } from '../cli-error.ts'
import type { DaemonHttp } from '../target/daemon-http.ts'
import { pipelinesOf } from './pipelines.ts'
import type { Snapshot } from './snapshot.ts'
import { upstreamsOf } from './upstreams.ts'

/** More keys than are shown, so that one that rises is known from before. */
const keysPerRule = 100

/** Processes report every two seconds, so the last seconds are not whole yet. */
const wholeSeconds = { from: -7, to: -2 } as const

/** A process reports at least every five seconds, and one that is not heard of is forgotten after ten. */
const overdueMs = 6000

/** Asks a daemon how all processes of its service stand. */
export async function readSnapshot(daemon: DaemonHttp): Promise<Snapshot> {
  const answer = (await daemon.json('GET', `/v1/stats?top=${keysPerRule}`)) as Stats
  if (answer?.decisions === undefined) throw outOfReach(`${daemon.address} does not answer as a Sluice daemon does`)
  const { service, policy, store, decisions, recent, replicas, rules } = answer
  const whole = recent.slice(wholeSeconds.from, wholeSeconds.to)
  const mean = (what: 'allowed' | 'denied' | 'degraded'): number =>
    whole.reduce((sum, second) => sum + second[what], 0) / Math.max(1, whole.length)
  const keys = (list: 'hottest' | 'mostDenied'): HotKey[] => rules.flatMap((rule) => rule[list])
  return {
    atMs: performance.now(),
    service,
    policyVersion: policy.version,
    store: store.ok ? store.name : `${store.name} (failing)`,
    replicas: replicas.length,
    overdueMs: replicas.map(({ ageMs }) => ageMs).filter((ageMs) => ageMs > overdueMs),
    upstreams: upstreamsOf(replicas),
    pipelines: pipelinesOf(replicas),
    perSecond: { allowed: mean('allowed'), denied: mean('denied'), degraded: mean('degraded') },
    allowed: decisions.allowed,
    denied: decisions.denied,
    degraded: decisions.degraded,
    used: keys('hottest'),
    deniedKeys: keys('mostDenied'),
  }
}
