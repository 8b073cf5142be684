/** One metric: everything the documentation prints about it. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /**
   * Label names. Their values are names from a policy or fixed words, never keys: the number of series must stay
   * bounded.
   */
  readonly labels: readonly string[]
  /** For a gauge: values of several parts with the same labels are added up. Otherwise the last one is shown. */
  readonly sum?: true
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[]
}

/**
 * The metrics of one part, by name. Names follow Prometheus: `sluice_` first, base units, `_total` at the end of a
 * counter.
 */
export type MetricTable = Readonly<Record<string, MetricSpec>>

/** Buckets for the duration of a decision or a round trip, in seconds. */
export const latencyBuckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
] as const

export type MetricNames<Table extends MetricTable, Type extends MetricSpec['type']> = {
  [Name in keyof Table]: Table[Name]['type'] extends Type ? Name : never
}[keyof Table] &
  string

export type LabelValues<Names extends readonly string[]> = { readonly [Index in keyof Names]: string }

/** Takes one value, and the values of the labels in the order of the table. */
export type MetricReport<Spec extends MetricSpec = MetricSpec> = (
  value: number,
  ...labels: LabelValues<Spec['labels']>
) => void

/** Where a part reports its metrics. Implemented once per monitoring system; no part knows which one it is. */
export interface MetricReporter<Table extends MetricTable = MetricTable> {
  /** Adds to a counter. */
  counter<Name extends MetricNames<Table, 'counter'>>(name: Name): MetricReport<Table[Name]>
  /** Records one value in a histogram. */
  histogram<Name extends MetricNames<Table, 'histogram'>>(name: Name): MetricReport<Table[Name]>
  /** `read` is called at each collection and sets the present values. */
  gauge<Name extends MetricNames<Table, 'gauge'>>(name: Name, read: (set: MetricReport<Table[Name]>) => void): void
  /**
   * Ends the series of a counter or histogram whose first labels have these values, as they are no longer in use.
   * OpenTelemetry keeps those of histograms.
   */
  forget(name: MetricNames<Table, 'counter' | 'histogram'>, ...labels: readonly string[]): void
}

/** The metrics of one part, ready to be composed by `prometheusMetrics` or `opentelemetryMetrics`. */
export interface PartMetrics {
  readonly table: MetricTable
  /** Starts to report; the returned functions remove the part's listeners. */
  start(reporter: MetricReporter): readonly (() => void)[]
}

/**
 * Joins a part's table with the code that fills it. Names and number of labels are checked by the compiler.
 *
 * @example
 * const table = {
 *   sluice_doors_opened_total: { type: 'counter', help: 'Doors that were opened, by side.', labels: ['side'] },
 * } as const satisfies MetricTable
 *
 * const doorMetrics = (door: Emitter<{ opened: { readonly side: string } }>): PartMetrics =>
 *   partMetrics(table, (reporter) => {
 *     const opened = reporter.counter('sluice_doors_opened_total')
 *     return [door.on('opened', ({ side }) => opened(1, side))]
 *   })
 */
export function partMetrics<const Table extends MetricTable>(
  table: Table,
  start: (reporter: MetricReporter<Table>) => readonly (() => void)[],
): PartMetrics {
  return { table, start: start as unknown as PartMetrics['start'] }
}
