import { type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge } from '../runtime/metric-rows.ts'
import type { Capacity } from './capacity.ts'

const table = {
  sluice_capacity_load_percent: gauge('The smoothed load that shippers are answered by.'),
  sluice_capacity_ready: gauge('1 while shippers may send, 0 while the server is not ready.'),
  sluice_capacity_senders: gauge('Shippers that asked in the last 30 s.'),
  sluice_capacity_in_flight: gauge('Requests in flight that the shedding guard let through.'),
  sluice_capacity_admit_share: gauge('The share of requests that the shedding guard lets through, 0 to 1.'),
  sluice_capacity_asked_total: counter('Questions of shippers, by whether the server was ready.', 'ready'),
  sluice_capacity_shed_total: counter(
    'Requests during overload, by priority and by whether they were admitted or shed.',
    'priority',
    'outcome',
  ),
} as const satisfies MetricTable

/** The metrics of a capacity. */
export const capacityMetricTable: MetricTable = table

/**
 * The metrics of a capacity.
 *
 * @example
 * prometheusMetrics(register, [capacityMetrics(capacity)])
 */
export function capacityMetrics(capacity: Capacity): PartMetrics {
  return partMetrics(table, (reporter) => {
    const asked = reporter.counter('sluice_capacity_asked_total')
    const shed = reporter.counter('sluice_capacity_shed_total')
    reporter.gauge('sluice_capacity_load_percent', (set) => set(capacity.load.percent))
    reporter.gauge('sluice_capacity_ready', (set) => set(capacity.stats().ready ? 1 : 0))
    reporter.gauge('sluice_capacity_senders', (set) => set(capacity.stats().senders))
    reporter.gauge('sluice_capacity_in_flight', (set) => set(capacity.stats().inFlight))
    reporter.gauge('sluice_capacity_admit_share', (set) => set(capacity.stats().admitShare))
    return [
      capacity.on('asked', ({ ready }) => asked(1, String(ready))),
      capacity.on('shed', ({ priority, admitted }) => shed(1, priority, admitted ? 'admitted' : 'shed')),
    ]
  })
}
