/** How often a key was seen in the recent past of the daemon, one to two minutes. */
export interface KeyCount {
  readonly key: string
  readonly count: number
}

/** What a daemon told at one moment. */
export interface Snapshot {
  /** For rates: milliseconds from any origin. */
  readonly atMs: number
  readonly service: string
  readonly policyVersion: string
  readonly store: string
  readonly allowed: number
  readonly denied: number
  readonly degraded: number
  readonly used: readonly KeyCount[]
  readonly deniedKeys: readonly KeyCount[]
}

/** A key in the list: how often per second since the last look, and how often in the recent past. */
export interface KeyRate extends KeyCount {
  readonly perSecond: number
}

export interface View {
  readonly service: string
  readonly policyVersion: string
  readonly store: string
  readonly allowedPerSecond: number
  readonly deniedPerSecond: number
  readonly degradedPerSecond: number
  readonly allowed: number
  readonly denied: number
  readonly hottest: readonly KeyRate[]
  readonly mostDenied: readonly KeyRate[]
}

/** Works out rates from two looks; from a single one they are 0. `shown` is what was shown before. */
export function viewOf(
  now: Snapshot,
  before: Snapshot | undefined,
  shown: View | undefined,
  keep: (key: string) => boolean,
): View {
  const seconds = before === undefined ? 0 : (now.atMs - before.atMs) / 1000
  const rate = (after: number, earlier: number | undefined): number => {
    if (seconds <= 0 || earlier === undefined) return 0
    // A daemon that was restarted counts from 0 again.
    return (after < earlier ? after : after - earlier) / seconds
  }
  const rates = (
    keys: readonly KeyCount[],
    former: readonly KeyCount[] | undefined,
    list: readonly KeyRate[] = [],
  ): KeyRate[] => {
    const known = new Map(former?.map(({ key, count }) => [key, count]))
    const rateOf = ({ key, count }: KeyCount): number => {
      const earlier = known.get(key) ?? 0
      // The oldest minute was just forgotten; for this once the last rate is the best guess.
      return count < earlier ? (list.find((each) => each.key === key)?.perSecond ?? 0) : rate(count, former && earlier)
    }
    return keys
      .filter(({ key }) => keep(key))
      .map((each) => ({ ...each, perSecond: rateOf(each) }))
      .sort((a, b) => b.perSecond - a.perSecond || b.count - a.count || (a.key < b.key ? -1 : 1))
  }
  return {
    service: now.service,
    policyVersion: now.policyVersion,
    store: now.store,
    allowedPerSecond: rate(now.allowed, before?.allowed),
    deniedPerSecond: rate(now.denied, before?.denied),
    degradedPerSecond: rate(now.degraded, before?.degraded),
    allowed: now.allowed,
    denied: now.denied,
    hottest: rates(now.used, before?.used, shown?.hottest),
    mostDenied: rates(now.deniedKeys, before?.deniedKeys, shown?.mostDenied),
  }
}
