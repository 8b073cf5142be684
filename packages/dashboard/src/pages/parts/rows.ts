import type { Stats as Answer } from '../../api/shapes.ts'
import { formatNumber, formatShare } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'

/** What processes report, as /v1/stats returns it. Any holder of a token for decisions can send such reports. */
export type Replica = Omit<Answer['replicas'][number], 'uptimeSeconds'>

/** One item that reports: an upstream, a cache, a breaker, ... in one process. */
export interface PartRow {
  readonly id: string
  readonly group: Group
  readonly name: string
  readonly replica: string
  readonly process: string
  readonly ageMs: number
  readonly state: { readonly kind: 'good' | 'bad' | 'warn'; readonly text: string }
  /** The main figures, in the order of the group's columns. */
  readonly cells: readonly string[]
  /** Counts from which a share over the last minute is computed. */
  readonly counts: { readonly part: number; readonly whole: number } | undefined
  /** The figure whose course is drawn; undefined for none. */
  readonly trend?: number | undefined
  /** A count that should not grow, and what it counts. */
  readonly errors?: { readonly count: number; readonly what: string } | undefined
  /** What it can be made to do now. */
  readonly offers: readonly string[]
  /** The part as actions name it; `item` is one of several in it. */
  readonly target: { readonly kind: string; readonly name: string; readonly item?: string }
}

export type Group = 'upstreams' | 'caches' | 'breakers' | 'capacity' | 'shippers' | 'pipelines' | 'others'

/** The columns of each group, after the name; the first ones stay on a phone. */
export const groups: Readonly<
  Record<Group, { readonly title: string; readonly columns: readonly string[]; readonly trend?: string }>
> = {
  upstreams: {
    title: 'Upstreams',
    trend: 'granted per second',
    columns: ['Waiting', 'Wait p99', 'In flight', 'Granted', 'Fullest limit'],
  },
  caches: { title: 'Caches', trend: 'hit rate', columns: ['Hit rate', 'Entries', 'Memory', 'Fetch errors'] },
  breakers: { title: 'Breakers', trend: 'share that failed', columns: ['Failed', 'Refused', 'In flight'] },
  capacity: { title: 'Capacity', trend: 'load', columns: ['Load', 'Lets in', 'Shippers', 'Shed'] },
  shippers: { title: 'Shippers', trend: 'pending events', columns: ['Pending', 'Oldest', 'In → out', 'On disk'] },
  pipelines: { title: 'Pipelines', columns: ['Written', 'Lag', 'Rejected', 'Records', 'Partitions here'] },
  others: { title: 'Other parts', columns: ['Figures'] },
}

type Stats = Readonly<Record<string, unknown>>
type Read = Pick<PartRow, 'name' | 'state' | 'cells' | 'counts' | 'trend' | 'errors'>

const readers: Readonly<
  Record<string, { readonly group: Group; readonly read: (name: string, stats: Stats) => Read }>
> = {
  egress: { group: 'upstreams', read: upstream },
  cache: { group: 'caches', read: cache },
  breaker: { group: 'breakers', read: breaker },
  capacity: { group: 'capacity', read: capacity },
  shipper: { group: 'shippers', read: shipper },
  pipeline: { group: 'pipelines', read: pipeline },
}

/** The rows of all processes. The limiter's own figures are on the overview. */
export function rowsOf(replicas: readonly Replica[]): readonly PartRow[] {
  const ids = new Map<string, number>()
  return replicas.flatMap(({ replica, host, pid, ageMs, parts }) =>
    parts
      .filter(({ kind }) => kind !== 'limiter')
      .flatMap(({ kind, name, stats, actions }) => {
        const { group, read } = Object.hasOwn(readers, kind)
          ? readers[kind]!
          : { group: 'others' as const, read: other }
        const listed = (Array.isArray(stats) ? stats : [stats]).filter(
          (each) => typeof each === 'object' && each !== null,
        )
        return (listed as Stats[]).map((each, i) => {
          const found = read(group === 'others' ? `${kind} ${name}`.trim() : name, each)
          // Parts that were given no name have the same one.
          const named = `${replica} ${kind} ${name} ${found.name} ${listed.length > 1 ? i : ''}`
          const same = ids.get(named) ?? 0
          ids.set(named, same + 1)
          const id = same === 0 ? named : `${named} ${same}`
          const item = Array.isArray(stats) ? { item: text(each.key) } : {}
          const offers = item.item === '' ? [] : actions.filter((action) => isUseful(action, kind, each))
          const target = { kind, name, ...item }
          return { ...found, id, group, replica, process: `${host}:${pid}`, ageMs, offers, target }
        })
      }),
  )
}

/** Whether an action would change something. */
function isUseful(action: string, kind: string, stats: Stats): boolean {
  if (kind !== 'breaker') return true
  return action === 'open' ? stats.isolated !== true : action !== 'close' || stats.state !== 'closed'
}

const good = (text: string): PartRow['state'] => ({ kind: 'good', text })
const warn = (text: string): PartRow['state'] => ({ kind: 'warn', text })
const bad = (text: string): PartRow['state'] => ({ kind: 'bad', text })
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
/** A text of bounded length; anything else is ignored. */
const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : '')
const fields = (value: unknown): Stats => (typeof value === 'object' && value !== null ? (value as Stats) : {})
const total = (value: unknown): number =>
  Object.values(fields(value)).reduce<number>((sum, each) => sum + number(each), 0)

function upstream(name: string, stats: Stats): Read {
  const limits = Array.isArray(stats.limits) ? stats.limits.map(fields) : []
  const fullest = Math.max(0, ...limits.map(({ used, amount }) => number(used) / Math.max(1, number(amount))))
  const pausedMs = number(stats.pausedMs)
  const state = stats.degraded
    ? bad('shared state away')
    : pausedMs > 0
      ? warn(`paused, ${formatDuration(pausedMs)} left`)
      : number(stats.recoveringMs) > 0
        ? warn(`waiting after a loss of state, ${formatDuration(number(stats.recoveringMs))} left`)
        : number(stats.pacedMs) > 0
          ? warn(`paced after a loss of state, ${formatDuration(number(stats.pacedMs))} left`)
          : number(stats.widenedMs) > 0
            ? warn('the vendor refuses although there is room')
            : fullest >= 1 && number(stats.depth) > 0
              ? warn(`limit used up, ${formatNumber(number(stats.depth))} waiting`)
              : good('granting')
  const { p99 } = fields(stats.waitMs)
  return {
    name: text(stats.name) || name || 'upstream',
    state,
    cells: [
      `${formatNumber(number(stats.depth))}`,
      formatDuration(number(p99)),
      formatNumber(number(stats.inFlight)),
      `${formatNumber(number(stats.ratePerSecond))}/s`,
      limits.length === 0 ? '–' : formatShare(fullest),
    ],
    counts: undefined,
    trend: number(stats.ratePerSecond),
  }
}

function cache(name: string, stats: Stats): Read {
  const hits = total(stats.hits)
  const lookups = hits + number(stats.misses)
  const memory = fields(stats.memory)
  const errors = number(stats.fetchErrors)
  return {
    name: name || 'cache',
    state:
      stats.redis === 'down'
        ? bad('Redis away, in process only')
        : stats.redis === 'up'
          ? good('with Redis')
          : good('in process'),
    cells: [
      lookups === 0 ? '–' : formatShare(hits / lookups),
      formatNumber(number(memory.entries)),
      formatBytes(number(memory.bytes)),
      formatNumber(errors),
    ],
    counts: { part: hits, whole: lookups },
    errors: { count: errors, what: 'fetch errors' },
  }
}

function breaker(name: string, stats: Stats): Read {
  const retryMs = number(stats.retryAfterMs)
  const state =
    stats.state === 'open'
      ? bad(retryMs > 0 ? `open, tries again in ${formatDuration(retryMs)}` : 'open')
      : stats.state === 'half-open'
        ? warn('half-open, trying')
        : good('closed')
  const calls = number(stats.succeeded) + number(stats.failed)
  return {
    // A single breaker has its own name as key.
    name: [...new Set([name, text(stats.key)])].filter((each) => each !== '').join(' / ') || 'breaker',
    state,
    cells: [
      calls === 0 ? '–' : formatShare(number(stats.failed) / calls),
      formatNumber(number(stats.rejected)),
      formatNumber(number(stats.inFlight)),
    ],
    counts: { part: number(stats.failed), whole: calls },
  }
}

function capacity(name: string, stats: Stats): Read {
  const load = fields(stats.load)
  const share = typeof stats.admitShare === 'number' ? stats.admitShare : 1
  return {
    name: name || 'capacity',
    state: !stats.ready
      ? bad('not ready')
      : share < 1
        ? warn(`shedding: ${text(load.cause) || 'load'}`)
        : good(text(load.cause) || 'ready'),
    cells: [
      `${Math.round(number(load.percent))}%`,
      formatShare(share),
      formatNumber(number(stats.senders)),
      formatNumber(total(stats.shed)),
    ],
    counts: undefined,
    trend: number(load.percent),
  }
}

function shipper(name: string, stats: Stats): Read {
  const gone = number(stats.lost) + number(stats.dropped)
  const fullMs = typeof stats.timeToFullMs === 'number' ? stats.timeToFullMs : undefined
  const failures = number(stats.consecutiveFailures)
  const next = `next in ${formatDuration(number(stats.nextAttemptInMs))}`
  const state = stats.isFull
    ? bad('full, refuses events')
    : gone > 0
      ? bad(`${formatNumber(gone)} lost or dropped`)
      : stats.breaker === 'open'
        ? warn(`pausing, ${next}`)
        : fullMs !== undefined
          ? warn(`full in ${formatDuration(fullMs)}`)
          : failures > 0
            ? warn(`${formatNumber(failures)} ${failures === 1 ? 'attempt' : 'attempts'} failed, ${next}`)
            : number(stats.backoffLevel) > 0
              ? warn(`waits for the server, ${next}`)
              : good(stats.isOwner ? 'sending' : 'storing, another process sends')
  return {
    name: name || text(stats.producer) || 'shipper',
    state,
    cells: [
      formatNumber(number(stats.pending)),
      number(stats.pending) === 0 ? '–' : formatDuration(number(stats.oldestAgeMs)),
      `${formatNumber(number(stats.inPerSecond))} → ${formatNumber(number(stats.outPerSecond))}/s`,
      formatBytes(number(stats.bytesOnDisk)),
    ],
    counts: undefined,
    trend: number(stats.pending),
    errors: { count: number(stats.rejected), what: 'events refused' },
  }
}

function pipeline(name: string, stats: Stats): Read {
  const owned = Array.isArray(stats.partitions) ? stats.partitions.map(fields) : []
  const failing = owned.find(({ error }) => text(error) !== '')
  const lost = number(stats.lost)
  const state =
    stats.state === 'failed'
      ? bad('failed')
      : failing !== undefined
        ? bad(`tries again: ${text(failing.error)}`)
        : lost > 0
          ? warn(`${formatNumber(lost)} lost by the source`)
          : stats.state === 'paused'
            ? warn('paused')
            : good(text(stats.state) || 'reports')
  const known = owned.filter(({ lag }) => typeof lag === 'number')
  const names = owned.slice(0, 8).map(({ partition }) => text(partition))
  return {
    name: name || 'pipeline',
    state,
    cells: [
      `${formatNumber(number(stats.perSecond))}/s`,
      known.length === 0 ? '–' : formatNumber(known.reduce((sum, { lag }) => sum + number(lag), 0)),
      formatNumber(number(stats.rejected)),
      formatNumber(number(stats.written)),
      `${names.join(', ')}${owned.length > names.length ? ` and ${owned.length - names.length} more` : ''}` || '–',
    ],
    counts: undefined,
  }
}

/** A part of another version, or of the service itself: its first numbers, under their own names. */
function other(name: string, stats: Stats): Read {
  const numbers = Object.entries(stats).filter(([, value]) => typeof value === 'number')
  const figures = numbers.slice(0, 5).map(([field, value]) => `${field.slice(0, 60)} ${formatNumber(value as number)}`)
  return { name: name || 'part', state: good('reports'), cells: [figures.join(' · ') || '–'], counts: undefined }
}

export function formatBytes(bytes: number): string {
  // By the rounded figure, so that none is shown as 1000 of a smaller unit.
  const rounded = bytes < 1000 ? Math.round(bytes) : Number(bytes.toPrecision(3))
  if (rounded < 1000) return `${rounded} B`
  if (rounded < 1e6) return `${rounded / 1e3} kB`
  return rounded < 1e9 ? `${rounded / 1e6} MB` : `${rounded / 1e9} GB`
}
