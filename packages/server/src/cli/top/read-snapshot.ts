import { outOfReach } from '../cli-error.ts'
import type { DaemonHttp } from '../target/daemon-http.ts'
import type { KeyCount, Snapshot } from './snapshot.ts'

/** As much of `/v1/stats` as is shown. */
interface StatsAnswer {
  readonly service: string
  readonly policy: { readonly version: string }
  readonly store: { readonly name: string; readonly ok: boolean }
  readonly decisions: { readonly allowed: number; readonly denied: number; readonly degraded: number }
  readonly rules: readonly { readonly hottest: readonly KeyCount[]; readonly mostDenied: readonly KeyCount[] }[]
}

/** More keys than are shown, so that one that rises is known from before. */
const keysPerRule = 100

/** Asks a daemon what it counts. */
export async function readSnapshot(daemon: DaemonHttp): Promise<Snapshot> {
  const answer = (await daemon.json('GET', `/v1/stats?top=${keysPerRule}`)) as StatsAnswer
  if (answer?.decisions === undefined) throw outOfReach(`${daemon.address} does not answer as a Sluice daemon does`)
  const { service, policy, store, decisions, rules } = answer
  const keys = (list: 'hottest' | 'mostDenied'): KeyCount[] =>
    rules.flatMap((rule) => rule[list].map(({ key, count }) => ({ key, count })))
  return {
    atMs: performance.now(),
    service,
    policyVersion: policy.version,
    store: store.ok ? store.name : `${store.name} (failing)`,
    allowed: decisions.allowed,
    denied: decisions.denied,
    degraded: decisions.degraded,
    used: keys('hottest'),
    deniedKeys: keys('mostDenied'),
  }
}
