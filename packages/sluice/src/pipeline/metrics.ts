import { type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge, histogram } from '../runtime/metric-rows.ts'
import type { Pipeline } from './pipeline.ts'

const table = {
  sluice_pipeline_records_total: counter(
    'Records, by what became of them: written, rejected, or lost by the source before they were read.',
    'pipeline',
    'outcome',
  ),
  sluice_pipeline_failures_total: counter(
    'What did not work and was tried again, by operation.',
    'pipeline',
    'operation',
  ),
  sluice_pipeline_write_seconds: histogram(
    'How long the sink took for a batch, with all its tries.',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    'pipeline',
  ),
  sluice_pipeline_rate_wait_seconds_total: counter('How long batches waited for the rate.', 'pipeline'),
  sluice_pipeline_lag_records: gauge(
    'Records still to be read in the partitions of this worker; missing where the source does not know.',
    'pipeline',
  ),
  sluice_pipeline_partitions: gauge('Partitions that this worker owns.', 'pipeline'),
  sluice_pipeline_buffered_records: gauge('Records in memory.', 'pipeline'),
} as const satisfies MetricTable

/** @public The test of `docs/metrics.md` finds it by its name. */
export const pipelineMetricTable: MetricTable = table

/** The metrics of a pipeline, labelled with its name. */
export function pipelineMetrics(pipeline: Pipeline): PartMetrics {
  const { name } = pipeline
  return partMetrics(table, (reporter) => {
    const records = reporter.counter('sluice_pipeline_records_total')
    const failures = reporter.counter('sluice_pipeline_failures_total')
    const writes = reporter.histogram('sluice_pipeline_write_seconds')
    const waits = reporter.counter('sluice_pipeline_rate_wait_seconds_total')
    reporter.gauge('sluice_pipeline_lag_records', (set) => {
      const known = pipeline.stats().partitions.flatMap(({ lag }) => lag ?? [])
      if (known.length > 0)
        set(
          known.reduce((sum, lag) => sum + lag),
          name,
        )
    })
    reporter.gauge('sluice_pipeline_partitions', (set) => set(pipeline.stats().partitions.length, name))
    reporter.gauge('sluice_pipeline_buffered_records', (set) => set(pipeline.stats().buffered, name))
    return [
      pipeline.on('written', ({ records: count, durationMs }) => {
        records(count, name, 'written')
        writes(durationMs / 1000, name)
      }),
      pipeline.on('rejected', () => records(1, name, 'rejected')),
      pipeline.on('lost', ({ records: count }) => records(count, name, 'lost')),
      pipeline.on('failed', ({ operation }) => failures(1, name, operation)),
      pipeline.on('waited', ({ durationMs }) => waits(durationMs / 1000, name)),
    ]
  })
}
