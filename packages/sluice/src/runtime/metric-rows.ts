import type { MetricSpec } from '../core/observe/metrics.ts'

/** One row of a table of metrics. */
interface Row<Type extends MetricSpec['type'], Labels extends readonly string[]> extends MetricSpec {
  readonly type: Type
  readonly labels: Labels
}

/** A counter: what it counts, and its labels. */
export function counter<const Labels extends readonly string[]>(
  help: string,
  ...labels: Labels
): Row<'counter', Labels> {
  return { type: 'counter', help, labels }
}

/** A gauge: what it shows, and its labels. */
export function gauge<const Labels extends readonly string[]>(help: string, ...labels: Labels): Row<'gauge', Labels> {
  return { type: 'gauge', help, labels }
}

/** A histogram: what it measures, the upper bounds of its buckets, and its labels. */
export function histogram<const Labels extends readonly string[]>(
  help: string,
  buckets: readonly number[],
  ...labels: Labels
): Row<'histogram', Labels> {
  return { type: 'histogram', help, labels, buckets }
}
