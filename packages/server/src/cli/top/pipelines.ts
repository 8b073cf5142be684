import { count, rate } from '../terminal/numbers.ts'
import type { Style } from '../terminal/style.ts'
import { pad, safe, shorten } from '../terminal/text.ts'
import type { Replica } from './upstreams.ts'

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

/** As much of the figures of a pipeline as is shown. Other versions may report others. */
interface Reported {
  readonly perSecond: number
  readonly rejected: number
  readonly partitions: readonly { readonly partition: string; readonly lag?: number; readonly error?: string }[]
}

/** Adds up what workers report of their pipelines, those with the largest lag first. */
export function pipelinesOf(replicas: readonly Replica[]): PipelineView[] {
  const found = new Map<string, PipelineView>()
  for (const { parts, host, pid } of replicas) {
    for (const { kind, name, stats } of parts)
      if (kind === 'pipeline' && isReported(stats))
        found.set(name, joined(found.get(name), name, stats, `${host}:${pid}`))
  }
  return [...found.values()].sort((a, b) => (b.lag ?? 0) - (a.lag ?? 0) || (a.name < b.name ? -1 : 1))
}

function isReported(value: unknown): value is Reported {
  const { perSecond, rejected, partitions } = (value ?? {}) as Reported
  return (
    Number.isFinite(perSecond) &&
    Number.isFinite(rejected) &&
    Array.isArray(partitions) &&
    partitions.every((each) => typeof each?.partition === 'string')
  )
}

function joined(known: PipelineView | undefined, name: string, each: Reported, process: string): PipelineView {
  const lags = each.partitions.flatMap(({ lag }) => (typeof lag === 'number' ? [lag] : []))
  const lag = lags.length === 0 ? known?.lag : lags.reduce((sum, one) => sum + one, known?.lag ?? 0)
  return {
    name,
    perSecond: (known?.perSecond ?? 0) + each.perSecond,
    lag,
    rejected: (known?.rejected ?? 0) + each.rejected,
    failing: (known?.failing ?? 0) + each.partitions.filter(({ error }) => error !== undefined).length,
    workers: [...(known?.workers ?? []), { process, partitions: each.partitions.map(({ partition }) => partition) }],
  }
}

const columnWidth = 11
const nameWidth = 16

/** The pipelines as lines, with who owns which partitions at the end. */
export function pipelineLines(pipelines: readonly PipelineView[], rows: number, width: number, style: Style): string[] {
  if (pipelines.length === 0 || rows < 2) return []
  const right = (text: string): string => pad(text, columnWidth, 'right')
  const head = pad('Pipeline', nameWidth, 'left') + ['written/s', 'lag'].map(right).join('')
  const rest = width - nameWidth - 2 * columnWidth - 2
  const lines = pipelines.slice(0, rows - 1).map((each) => {
    const name = pad(`  ${shorten(safe(each.name), nameWidth - 3)}`, nameWidth, 'left')
    const figures = right(rate(each.perSecond)) + right(each.lag === undefined ? '-' : count(each.lag))
    return `${each.failing > 0 ? style.warn(name) : name}${figures}  ${shorten(stateOf(each), Math.max(0, rest))}`
  })
  return [style.strong(head), ...lines]
}

/** A pipeline in one line of text. */
export function pipelineText(each: PipelineView): string {
  const lag = each.lag === undefined ? '' : `, lag ${count(each.lag)}`
  return `${safe(each.name)}: ${rate(each.perSecond)}/s${lag}, ${stateOf(each)}`
}

function stateOf({ rejected, failing, workers }: PipelineView): string {
  const owners = workers.map(
    ({ process, partitions }) => `${safe(process)} has ${partitions.map(safe).join(' ') || 'none'}`,
  )
  return [
    ...(failing > 0 ? [`${failing} failing`] : []),
    ...(rejected > 0 ? [`${count(rejected)} rejected`] : []),
    ...owners,
  ].join(', ')
}
