import { latencyBuckets, type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge, histogram } from '../runtime/metric-rows.ts'
import type { Shipper } from './shipper.ts'

const table = {
  sluice_shipper_events_total: counter(
    'Events by what became of them: stored, refused (by ship), sent, duplicate (the server had it already), rejected (set aside), dropped (by drop-oldest) or lost (damaged on the disk).',
    'shipper',
    'fate',
  ),
  sluice_shipper_pending_events: gauge('Stored events that wait to be shipped.', 'shipper'),
  sluice_shipper_oldest_age_seconds: gauge('Age of the oldest event that waits.', 'shipper'),
  sluice_shipper_buffer_bytes: gauge('Bytes of all segments on the disk.', 'shipper'),
  sluice_shipper_in_rate: gauge('Events stored per second, over about ten seconds.', 'shipper'),
  sluice_shipper_out_rate: gauge('Events shipped per second, over about ten seconds.', 'shipper'),
  sluice_shipper_time_to_full_seconds: gauge(
    'When the buffer will be full if it goes on growing like this; missing without a limit or while it does not grow.',
    'shipper',
  ),
  sluice_shipper_full: gauge('1 while the buffer is full, else 0.', 'shipper'),
  sluice_shipper_backoff_level: gauge('The level of the backoff, from 0.', 'shipper'),
  sluice_shipper_breaker_state: gauge(
    'The state of the breaker before the server: 1 for the present one, 0 for the others.',
    'shipper',
    'state',
  ),
  sluice_shipper_owner: gauge('1 if this process ships from the directory, 0 if another one does.', 'shipper'),
  sluice_shipper_failures_total: counter(
    'Failed attempts to ship (server) and failed operations on the disk (storage).',
    'shipper',
    'of',
  ),
  sluice_shipper_batch_duration_seconds: histogram(
    'Time from sending a batch until it was recorded as shipped.',
    [...latencyBuckets, 2.5, 5, 10, 30],
    'shipper',
  ),
} as const satisfies MetricTable

/** The metrics of a shipper. */
export const shipperMetricTable: MetricTable = table

/**
 * The metrics of a shipper; `name` distinguishes several of them.
 *
 * @example
 * prometheusMetrics(register, [shipperMetrics(shipper)])
 */
export function shipperMetrics(shipper: Shipper, name = 'default'): PartMetrics {
  return partMetrics(table, (reporter) => {
    const events = reporter.counter('sluice_shipper_events_total')
    const failures = reporter.counter('sluice_shipper_failures_total')
    const duration = reporter.histogram('sluice_shipper_batch_duration_seconds')
    // A series that begins with its first event hides that event from rate() and increase().
    for (const fate of ['stored', 'refused', 'sent', 'duplicate', 'rejected', 'dropped', 'lost']) events(0, name, fate)
    const gauges = {
      sluice_shipper_pending_events: () => shipper.stats().pending,
      sluice_shipper_oldest_age_seconds: () => shipper.stats().oldestAgeMs / 1000,
      sluice_shipper_buffer_bytes: () => shipper.stats().bytesOnDisk,
      sluice_shipper_in_rate: () => shipper.stats().inPerSecond,
      sluice_shipper_out_rate: () => shipper.stats().outPerSecond,
      sluice_shipper_full: () => (shipper.stats().isFull ? 1 : 0),
      sluice_shipper_backoff_level: () => shipper.stats().backoffLevel,
      sluice_shipper_owner: () => (shipper.stats().isOwner ? 1 : 0),
    } as const
    for (const [gauge, read] of Object.entries(gauges)) {
      reporter.gauge(gauge as keyof typeof gauges, (set) => set(read(), name))
    }
    reporter.gauge('sluice_shipper_time_to_full_seconds', (set) => {
      const { timeToFullMs } = shipper.stats()
      if (timeToFullMs !== null) set(timeToFullMs / 1000, name)
    })
    reporter.gauge('sluice_shipper_breaker_state', (set) => {
      const { breaker } = shipper.stats()
      for (const state of ['closed', 'open', 'half-open']) set(state === breaker ? 1 : 0, name, state)
    })
    return [
      shipper.on('stored', ({ events: count }) => events(count, name, 'stored')),
      shipper.on('refused', ({ events: count }) => events(count, name, 'refused')),
      shipper.on('sent', ({ sent, duplicates, tookMs }) => {
        events(sent, name, 'sent')
        events(duplicates, name, 'duplicate')
        duration(tookMs / 1000, name)
      }),
      shipper.on('rejected', () => events(1, name, 'rejected')),
      shipper.on('dropped', ({ events: count }) => events(count, name, 'dropped')),
      shipper.on('lost', ({ events: count }) => events(count, name, 'lost')),
      shipper.on('failed', () => failures(1, name, 'server')),
      shipper.on('storageFailed', () => failures(1, name, 'storage')),
    ]
  })
}
