import type { HotKey } from '../../shapes/stats.ts'
import type { PipelineView, UpstreamView } from './reported-parts.ts'

/** How a service stood at one moment, all its processes together. */
export interface Snapshot {
  /** When its figures were counted, for rates: milliseconds from any origin. */
  readonly atMs: number
  readonly service: string
  readonly policyVersion: string
  readonly store: string
  /** How many processes reported. */
  readonly replicas: number
  /** How long ago those were last heard of whose next report is overdue: they may have died. */
  readonly overdueMs: readonly number[]
  readonly allowed: number
  readonly denied: number
  readonly degraded: number
  /** Per second, over the last whole seconds. */
  readonly perSecond: { readonly allowed: number; readonly denied: number; readonly degraded: number }
  readonly used: readonly HotKey[]
  readonly deniedKeys: readonly HotKey[]
  /** Calls to vendors; empty where no process reports any. */
  readonly upstreams: readonly UpstreamView[]
  readonly pipelines: readonly PipelineView[]
}

/** A key in the list: how often per second since the last look, and how often in the recent past. */
export interface KeyRate extends HotKey {
  readonly perSecond: number
}

/** Figures that are closer together make no rate. */
const leastSeconds = 0.5

export interface View extends Omit<Snapshot, 'atMs' | 'degraded' | 'perSecond' | 'used' | 'deniedKeys'> {
  readonly allowedPerSecond: number
  readonly deniedPerSecond: number
  readonly degradedPerSecond: number
  readonly hottest: readonly KeyRate[]
  readonly mostDenied: readonly KeyRate[]
}

/**
 * What to show of a look; rates of keys are those since `before`, 0 without one. `shown` is what was shown last.
 *
 * Keys are counted in bounded memory, and a key that comes new takes over the count of the one it replaces as its
 * `error`. Only what is certain makes a rate, and keys of which most is uncertain are left out: they are not hot, they
 * merely took a place.
 */
export function viewOf(
  now: Snapshot,
  before: Snapshot | undefined,
  shown: View | undefined,
  keep: (key: string) => boolean,
): View {
  const seconds = before === undefined ? 0 : (now.atMs - before.atMs) / 1000
  const rates = (
    keys: readonly HotKey[],
    former: readonly HotKey[] | undefined,
    list: readonly KeyRate[] = [],
  ): KeyRate[] => {
    const known = new Map(former?.map((each) => [each.key, certain(each)]))
    const rateOf = (each: HotKey): number => {
      if (former === undefined) return 0
      const more = certain(each) - (known.get(each.key) ?? 0)
      // The oldest minute was just forgotten, a process ended, or nobody has reported since; the last rate is the best
      // guess.
      if (more < 0 || seconds < leastSeconds) return list.find(({ key }) => key === each.key)?.perSecond ?? 0
      return more / seconds
    }
    return keys
      .filter((each) => keep(each.key) && certain(each) * 2 > each.count)
      .map((each) => ({ ...each, perSecond: rateOf(each) }))
      .sort((a, b) => b.perSecond - a.perSecond || b.count - a.count || (a.key < b.key ? -1 : 1))
  }
  const { atMs: _, degraded: __, perSecond, used, deniedKeys, ...same } = now
  return {
    ...same,
    allowedPerSecond: perSecond.allowed,
    deniedPerSecond: perSecond.denied,
    degradedPerSecond: perSecond.degraded,
    hottest: rates(used, before?.used, shown?.hottest),
    mostDenied: rates(deniedKeys, before?.deniedKeys, shown?.mostDenied),
  }
}

function certain({ count, error }: HotKey): number {
  return count - error
}
