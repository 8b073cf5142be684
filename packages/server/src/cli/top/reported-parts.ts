import * as z from 'zod'
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

/** How one pipeline stands, all workers together. */
export interface PipelineView {
  readonly name: string
  readonly perSecond: number
  /** Undefined where no source knows it. */
  readonly lag: number | undefined
  readonly rejected: number
  readonly failing: number
  /** Which worker has which partitions. */
  readonly workers: readonly { readonly process: string; readonly partitions: readonly string[] }[]
}

// As much of the figures as is shown. What another version reports in another form is left out.
const upstream = z.object({
  ...{ name: z.string(), waiting: z.number(), inFlight: z.number(), pausedMs: z.number(), ratePerSecond: z.number() },
  ...{ degraded: z.boolean(), waitMs: z.object({ p99: z.number() }), refused: z.record(z.string(), z.number()) },
  limits: z.array(z.object({ name: z.string(), used: z.number(), amount: z.number() })),
})
const partition = z.object({ partition: z.string(), lag: z.number().optional(), error: z.string().optional() })
const pipeline = z.object({ perSecond: z.number(), rejected: z.number(), partitions: z.array(partition) })

/** Adds up what processes report of their upstreams, those with the most waiting calls first. */
export function upstreamsOf(replicas: readonly Replica[]): UpstreamView[] {
  const found = new Map<string, UpstreamView>()
  for (const { parts, ageMs } of replicas)
    for (const { kind, stats } of parts)
      for (const given of kind === 'egress' && Array.isArray(stats) ? stats : []) {
        const each = upstream.safeParse(given).data
        if (each) found.set(each.name, withUpstream(found.get(each.name), each, ageMs))
      }
  return [...found.values()].sort((a, b) => b.waiting - a.waiting || (a.name < b.name ? -1 : 1))
}

function withUpstream(known: UpstreamView | undefined, each: z.infer<typeof upstream>, ageMs: number): UpstreamView {
  const refused = Object.values(each.refused).reduce((sum, n) => sum + n, 0)
  return {
    name: each.name,
    grantsPerSecond: (known?.grantsPerSecond ?? 0) + each.ratePerSecond,
    // What is used is counted over all processes, so the highest figure is the newest or the only one.
    // Processes with another version of the policy may have them in another order.
    limits: each.limits.map((limit) => {
      const former = known?.limits.find(({ name }) => name === limit.name)
      return { ...limit, used: Math.max(limit.used, former?.used ?? 0) }
    }),
    waiting: (known?.waiting ?? 0) + each.waiting,
    inFlight: (known?.inFlight ?? 0) + each.inFlight,
    waitP99Ms: Math.max(known?.waitP99Ms ?? 0, each.waitMs.p99),
    refused: (known?.refused ?? 0) + refused,
    pausedMs: Math.max(known?.pausedMs ?? 0, each.pausedMs - ageMs),
    degraded: (known?.degraded ?? 0) + (each.degraded ? 1 : 0),
  }
}

/** Adds up what workers report of their pipelines, those with the largest lag first. */
export function pipelinesOf(replicas: readonly Replica[]): PipelineView[] {
  const found = new Map<string, PipelineView>()
  for (const { parts, host, pid } of replicas)
    for (const { kind, name, stats } of parts) {
      const each = kind === 'pipeline' ? pipeline.safeParse(stats).data : undefined
      if (each) found.set(name, withPipeline(found.get(name), name, each, `${host}:${pid}`))
    }
  return [...found.values()].sort((a, b) => (b.lag ?? 0) - (a.lag ?? 0) || (a.name < b.name ? -1 : 1))
}

function withPipeline(
  known: PipelineView | undefined,
  name: string,
  { perSecond, rejected, partitions }: z.infer<typeof pipeline>,
  process: string,
): PipelineView {
  const lags = partitions.flatMap(({ lag }) => lag ?? [])
  return {
    name,
    perSecond: (known?.perSecond ?? 0) + perSecond,
    lag: lags.length === 0 ? known?.lag : lags.reduce((sum, lag) => sum + lag, known?.lag ?? 0),
    rejected: (known?.rejected ?? 0) + rejected,
    failing: (known?.failing ?? 0) + partitions.filter(({ error }) => error !== undefined).length,
    workers: [...(known?.workers ?? []), { process, partitions: partitions.map((each) => each.partition) }],
  }
}

/** How parts of one kind are listed. */
interface Listing<View> {
  readonly title: string
  readonly columns: readonly { readonly title: string; readonly text: (each: View) => string }[]
  /** What is out of the ordinary, or who does what. */
  readonly state: (each: View) => string
  readonly isTrouble: (each: View) => boolean
  /** The figures in one line of text. */
  readonly text: (each: View) => string
}

export const upstreamListing: Listing<UpstreamView> = {
  title: 'Upstream',
  columns: [
    { title: 'grants/s', text: (each) => rate(each.grantsPerSecond) },
    { title: 'waiting', text: (each) => count(each.waiting) },
    { title: 'wait p99', text: (each) => duration(Math.round(each.waitP99Ms)) },
    { title: 'in flight', text: (each) => count(each.inFlight) },
    { title: 'refused', text: (each) => count(each.refused) },
  ],
  state: ({ pausedMs, degraded }) =>
    [
      ...(pausedMs > 0 ? [`paused for ${duration(Math.round(pausedMs))}`] : []),
      ...(degraded > 0 ? [`${degraded} without Redis`] : []),
    ].join(', '),
  isTrouble: ({ pausedMs }) => pausedMs > 0,
  text: (each) => `${rate(each.grantsPerSecond)} grants/s, ${count(each.waiting)} waiting`,
}

export const pipelineListing: Listing<PipelineView> = {
  title: 'Pipeline',
  columns: [
    { title: 'written/s', text: (each) => rate(each.perSecond) },
    { title: 'lag', text: ({ lag }) => (lag === undefined ? '-' : count(lag)) },
  ],
  state: ({ rejected, failing, workers }) =>
    [
      ...(failing > 0 ? [`${failing} failing`] : []),
      ...(rejected > 0 ? [`${count(rejected)} rejected`] : []),
      ...workers.map(({ process, partitions }) => `${process} has ${partitions.join(' ') || 'none'}`),
    ].join(', '),
  isTrouble: ({ failing }) => failing > 0,
  text: ({ perSecond, lag }) => `${rate(perSecond)}/s${lag === undefined ? '' : `, lag ${count(lag)}`}`,
}

const columnWidth = 11
const nameWidth = 16

/** Parts as lines: as many columns as fit, and how each stands at the end. */
export function partLines<View extends { readonly name: string }>(
  { title, columns, state, isTrouble }: Listing<View>,
  parts: readonly View[],
  rows: number,
  width: number,
  style: Style,
): string[] {
  if (parts.length === 0 || rows < 2) return []
  const shown = columns.slice(0, Math.max(1, Math.floor((width - nameWidth) / columnWidth)))
  const rest = width - nameWidth - shown.length * columnWidth - 2
  const cells = (first: string, others: readonly string[]): string =>
    pad(first, nameWidth, 'left') + others.map((each) => pad(each, columnWidth, 'right')).join('')
  const lines = parts.slice(0, rows - 1).map((each) => {
    const figures = cells(
      `  ${shorten(safe(each.name), nameWidth - 3)}`,
      shown.map(({ text }) => text(each)),
    )
    const end = rest < 8 ? '' : `  ${shorten(safe(state(each)), rest)}`
    return isTrouble(each) ? style.warn(figures + end) : figures + end
  })
  const head = cells(
    title,
    shown.map((column) => column.title),
  )
  return [style.strong(head), ...lines]
}

/** A part in one line of text. */
export function partText<View extends { readonly name: string }>({ text, state }: Listing<View>, part: View): string {
  const how = safe(state(part))
  return `${safe(part.name)}: ${text(part)}${how === '' ? '' : `, ${how}`}`
}
