import { SluiceError } from '../core/errors.ts'
import type { MetricReport, MetricReporter, MetricSpec, PartMetrics } from '../core/observe/metrics.ts'

type Branch = Map<string, Branch | { sum: number }>

/**
 * Counts by label values. They are looked up one after the other, so that adding builds no text: all of them are
 * strings that live on anyway, whose hashes are known.
 */
class LabelCounter {
  readonly #names: readonly string[]
  readonly #root: Branch = new Map()
  #unlabelled: number | undefined

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** Adds to the sum of these label values, one for each name. */
  add(value: number, ...values: readonly string[]): void {
    if (values.length === 0) {
      this.#unlabelled = (this.#unlabelled ?? 0) + value
      return
    }
    const last = values.length - 1
    let branch = this.#root
    for (let i = 0; i < last; i++) {
      let next = branch.get(values[i]!) as Branch | undefined
      if (next === undefined) {
        next = new Map()
        branch.set(values[i]!, next)
      }
      branch = next
    }
    const leaf = branch.get(values[last]!) as { sum: number } | undefined
    if (leaf === undefined) branch.set(values[last]!, { sum: value })
    else leaf.sum += value
  }

  /** Removes the sums whose first label values are these. */
  forget(values: readonly string[]): void {
    let branch: Branch | undefined = this.#root
    for (const value of values.slice(0, -1)) branch = branch?.get(value) as Branch | undefined
    branch?.delete(values.at(-1)!)
  }

  *[Symbol.iterator](): Generator<{ readonly labels: Record<string, string>; readonly value: number }> {
    if (this.#unlabelled !== undefined) yield { labels: {}, value: this.#unlabelled }
    yield* this.#below(this.#root, 0, {})
  }

  *#below(
    branch: Branch,
    depth: number,
    above: Record<string, string>,
  ): Generator<{ labels: Record<string, string>; value: number }> {
    for (const [value, next] of branch) {
      const labels = { ...above, [this.#names[depth]!]: value }
      if (next instanceof Map) yield* this.#below(next, depth + 1, labels)
      else yield { labels, value: next.sum }
    }
  }
}

/** One value of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A histogram of a monitoring system. */
export interface HistogramSink {
  observe(value: number, labels: Readonly<Record<string, string>>): void
  /** Ends the series that have these labels. */
  forget(labels: Readonly<Record<string, string>>): void
}

/** A monitoring system. `samples` is read at each collection. */
export interface MetricsBackend {
  counter(name: string, spec: MetricSpec, samples: () => Iterable<Sample>): void
  gauge(name: string, spec: MetricSpec, samples: () => Iterable<Sample>): void
  histogram(name: string, spec: MetricSpec): HistogramSink
  /** Whether what was opened under this name is still there. */
  has(name: string): boolean
}

/** The metrics of any number of parts in one registry or meter. */
export interface Metrics {
  /** Adds a part that came later. The returned function removes it; what it counted so far stays. */
  add(part: PartMetrics): () => void
  /** Removes all parts. */
  close(): void
}

type GaugeReader = (set: MetricReport) => void

interface Family {
  readonly spec: MetricSpec
  readonly report: MetricReport
  forget(labels: readonly string[]): void
  readonly readers: Set<GaugeReader>
}

/** Opens each metric once, however many parts report to it, and none that no part has. */
export class Composer {
  readonly #backend: MetricsBackend
  readonly #families = new Map<string, Family>()

  constructor(backend: MetricsBackend) {
    this.#backend = backend
  }

  /** The metrics of these parts, and of those added later. */
  compose(parts: readonly PartMetrics[]): Metrics {
    const removals = new Set<() => void>()
    const add = (part: PartMetrics): (() => void) => {
      const stop = this.#start(part)
      const remove = (): void => {
        if (removals.delete(remove)) stop()
      }
      removals.add(remove)
      return remove
    }
    for (const part of parts) add(part)
    return { add, close: () => removals.forEach((remove) => void remove()) }
  }

  #start({ table, start }: PartMetrics): () => void {
    for (const [name, spec] of Object.entries(table)) this.#open(name, spec)
    const family = (name: string): Family => {
      const found = Object.hasOwn(table, name) ? this.#families.get(name) : undefined
      if (found === undefined) throw new SluiceError('SLUICE_WRONG_USE', `The part's table has no metric ${name}.`)
      return found
    }
    const own: (() => void)[] = []
    const reporter = {
      counter: (name: string) => family(name).report,
      histogram: (name: string) => family(name).report,
      gauge: (name: string, read: GaugeReader) => {
        const { readers } = family(name)
        readers.add(read)
        own.push(() => readers.delete(read))
      },
      forget: (name: string, ...labels: readonly string[]) => family(name).forget(labels),
    }
    const ends = start(reporter as MetricReporter)
    return () => [...ends, ...own].forEach((end) => void end())
  }

  #open(name: string, spec: MetricSpec): void {
    const known = this.#families.get(name)
    if (known === undefined || !this.#backend.has(name)) this.#families.set(name, this.#family(name, spec))
    else if (!isSame(known.spec, spec))
      throw new SluiceError(
        'SLUICE_WRONG_USE',
        `Two parts describe the metric ${name} differently. Rename one of them.`,
      )
  }

  #family(name: string, spec: MetricSpec): Family {
    const readers = new Set<GaugeReader>()
    if (spec.type === 'counter') {
      const counter = new LabelCounter(spec.labels)
      this.#backend.counter(name, spec, () => counter)
      const report: MetricReport = (value, ...labels) => counter.add(value, ...labels)
      return { spec, readers, report, forget: (labels) => counter.forget(labels) }
    }
    if (spec.type === 'histogram') {
      const sink = this.#backend.histogram(name, spec)
      const report: MetricReport = (value, ...labels) => sink.observe(value, labelled(spec, labels))
      return { spec, readers, report, forget: (labels) => sink.forget(labelled(spec, labels)) }
    }
    this.#backend.gauge(name, spec, () => {
      if (spec.sum) {
        const sums = new LabelCounter(spec.labels)
        for (const read of readers) read((value, ...labels) => sums.add(value, ...labels))
        return sums
      }
      const samples: Sample[] = []
      for (const read of readers) read((value, ...labels) => samples.push({ labels: labelled(spec, labels), value }))
      return samples
    })
    return { spec, readers, report: () => {}, forget: () => {} }
  }
}

function labelled({ labels }: MetricSpec, values: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {}
  for (let i = 0; i < values.length; i++) named[labels[i]!] = values[i]!
  return named
}

function isSame(a: MetricSpec, b: MetricSpec): boolean {
  return a === b || JSON.stringify([a.type, a.labels, a.buckets]) === JSON.stringify([b.type, b.labels, b.buckets])
}
