import type { Stats } from '../../shapes/stats.ts'
import { count, duration, rate } from '../terminal/numbers.ts'
import type { Style } from '../terminal/style.ts'
import { pad, safe, shorten } from '../terminal/text.ts'

/** As much of what a process reports as is shown. */
export type Replica = Pick<Stats['replicas'][number], 'host' | 'pid' | 'ageMs'> & {
  readonly parts: readonly Pick<Stats['replicas'][number]['parts'][number], 'kind' | 'name' | 'stats'>[]
}

/** How one upstream stands, all processes together. */
export interface UpstreamView {
  readonly name: string
  readonly grantsPerSecond: number
  readonly limits: readonly { readonly name: string; readonly used: number; readonly amount: number }[]
  readonly waiting: number
  readonly inFlight: number
  /** The longest of the processes, over the last thousand grants of each. */
  readonly waitP99Ms: number
  readonly refused: number
  readonly pausedMs: number
  /** Processes that cannot reach shared state. */
  readonly degraded: number
}

/** As much of the figures of egress as is shown. Other versions may report others. */
interface Reported {
  readonly name: string
  readonly waiting: number
  readonly inFlight: number
  readonly pausedMs: number
  readonly ratePerSecond: number
  readonly degraded: boolean
  readonly waitMs: { readonly p99: number }
  readonly refused: Readonly<Record<string, number>>
  readonly limits: UpstreamView['limits']
}

/** Adds up what processes report of their upstreams, those with the most waiting calls first. */
export function upstreamsOf(replicas: readonly Replica[]): UpstreamView[] {
  const found = new Map<string, UpstreamView>()
  for (const { parts, ageMs } of replicas) {
    for (const { kind, stats } of parts) {
      if (kind !== 'egress' || !Array.isArray(stats)) continue
      for (const each of stats.filter(isReported)) found.set(each.name, joined(found.get(each.name), each, ageMs))
    }
  }
  return [...found.values()].sort((a, b) => b.waiting - a.waiting || (a.name < b.name ? -1 : 1))
}

function isReported(value: unknown): value is Reported {
  const { name, waiting, inFlight, pausedMs, ratePerSecond, waitMs, refused, limits } = (value ?? {}) as Reported
  const figures = [waiting, inFlight, pausedMs, ratePerSecond, waitMs?.p99]
  return (
    typeof name === 'string' &&
    figures.every(Number.isFinite) &&
    typeof refused === 'object' &&
    Array.isArray(limits) &&
    limits.every((limit) => Number.isFinite(limit?.used) && Number.isFinite(limit?.amount))
  )
}

function joined(known: UpstreamView | undefined, each: Reported, ageMs: number): UpstreamView {
  const refused = Object.values(each.refused ?? {}).reduce((sum, n) => sum + n, 0)
  return {
    name: each.name,
    grantsPerSecond: (known?.grantsPerSecond ?? 0) + each.ratePerSecond,
    // What is used is counted over all processes, so the highest figure is the newest or the only one.
    // Processes with another version of the policy may have them in another order.
    limits: each.limits.map(({ name, used, amount }) => ({
      name,
      used: Math.max(used, known?.limits.find((limit) => limit.name === name)?.used ?? 0),
      amount,
    })),
    waiting: (known?.waiting ?? 0) + each.waiting,
    inFlight: (known?.inFlight ?? 0) + each.inFlight,
    waitP99Ms: Math.max(known?.waitP99Ms ?? 0, each.waitMs.p99),
    refused: (known?.refused ?? 0) + refused,
    pausedMs: Math.max(known?.pausedMs ?? 0, each.pausedMs - ageMs),
    degraded: (known?.degraded ?? 0) + (each.degraded ? 1 : 0),
  }
}

const columns: readonly { readonly title: string; readonly text: (each: UpstreamView) => string }[] = [
  { title: 'grants/s', text: (each) => rate(each.grantsPerSecond) },
  { title: 'waiting', text: (each) => count(each.waiting) },
  { title: 'wait p99', text: (each) => duration(Math.round(each.waitP99Ms)) },
  { title: 'in flight', text: (each) => count(each.inFlight) },
  { title: 'refused', text: (each) => count(each.refused) },
]
const columnWidth = 11
const nameWidth = 16

/** The upstreams as lines: as many columns as fit, and what is out of the ordinary at the end. */
export function upstreamLines(upstreams: readonly UpstreamView[], rows: number, width: number, style: Style): string[] {
  if (upstreams.length === 0 || rows < 2) return []
  const shown = columns.slice(0, Math.max(1, Math.floor((width - nameWidth) / columnWidth)))
  const rest = width - nameWidth - shown.length * columnWidth - 2
  const head = pad('Upstream', nameWidth, 'left') + shown.map(({ title }) => pad(title, columnWidth, 'right')).join('')
  const lines = upstreams.slice(0, rows - 1).map((each) => {
    const figures = shown.map(({ text }) => pad(text(each), columnWidth, 'right')).join('')
    const state = rest < 8 ? '' : `  ${style.warn(shorten(stateOf(each), rest))}`
    const name = pad(`  ${shorten(safe(each.name), nameWidth - 3)}`, nameWidth, 'left')
    return `${each.pausedMs > 0 ? style.warn(name) : name}${figures}${state}`
  })
  return [style.strong(head), ...lines]
}

/** An upstream in one line of text. */
export function upstreamText(each: UpstreamView): string {
  const figures = `${rate(each.grantsPerSecond)} grants/s, ${count(each.waiting)} waiting`
  const state = stateOf(each)
  return `${safe(each.name)}: ${figures}${state === '' ? '' : `, ${state}`}`
}

function stateOf({ pausedMs, degraded }: UpstreamView): string {
  return [
    ...(pausedMs > 0 ? [`paused for ${duration(Math.round(pausedMs))}`] : []),
    ...(degraded > 0 ? [`${degraded} without Redis`] : []),
  ].join(', ')
}
