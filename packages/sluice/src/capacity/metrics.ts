import { type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import type { Capacity } from './capacity.ts'

const table = {
  sluice_capacity_load_percent: { type: 'gauge', help: 'The smoothed load that shippers are answered by.', labels: [] },
  sluice_capacity_ready: {
    type: 'gauge',
    help: '1 while shippers may send, 0 while the server is not ready.',
    labels: [],
  },
  sluice_capacity_senders: { type: 'gauge', help: 'Shippers that asked in the last 30 s.', labels: [] },
  sluice_capacity_in_flight: {
    type: 'gauge',
    help: 'Requests in flight that the shedding guard let through.',
    labels: [],
  },
  sluice_capacity_admit_share: {
    type: 'gauge',
    help: 'The share of requests that the shedding guard lets through, 0 to 1.',
    labels: [],
  },
  sluice_capacity_asked_total: {
    type: 'counter',
    help: 'Questions of shippers, by whether the server was ready.',
    labels: ['ready'],
  },
  sluice_capacity_shed_total: {
    type: 'counter',
    help: 'Requests during overload, by priority and by whether they were admitted or shed.',
    labels: ['priority', 'outcome'],
  },
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
