import { type MetricNames, type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge, histogram } from '../runtime/metric-rows.ts'
import type { Egress, UpstreamStats } from './egress.ts'

const waitBuckets = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60] as const
const answerBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

const table = {
  sluice_egress_wait_seconds: histogram('How long calls waited for their grants.', waitBuckets, 'upstream'),
  sluice_egress_refused_total: counter(
    'Calls that were not given a grant, by reason: queue-full, wait-too-long, closed or breaker-open.',
    'upstream',
    'reason',
  ),
  sluice_egress_responses_total: counter('Responses of vendors, by status.', 'upstream', 'status'),
  sluice_egress_response_seconds: histogram(
    'From the head of a request to the head of its response.',
    answerBuckets,
    'upstream',
  ),
  sluice_egress_failures_total: counter(
    'Calls without a response, by reason: unreachable, reset, timeout or aborted.',
    'upstream',
    'reason',
  ),
  sluice_egress_pauses_total: counter('Pauses that a vendor asked this process for.', 'upstream'),
  sluice_egress_retries_total: counter('Calls that were made again.', 'upstream'),
  sluice_egress_queue_depth: gauge('Calls that wait for a grant, on all replicas together.', 'upstream'),
  sluice_egress_waiting: gauge('Calls of this process that wait for a grant.', 'upstream'),
  sluice_egress_in_flight: gauge('Calls of this process that hold a grant.', 'upstream'),
  sluice_egress_limit_used: gauge('Units of each limit that are taken, on all replicas together.', 'upstream', 'limit'),
  sluice_egress_limit_amount: gauge('Units of each limit.', 'upstream', 'limit'),
  sluice_egress_paused_seconds: gauge('For how much longer the upstream is paused.', 'upstream'),
  sluice_egress_arrival_seconds: gauge(
    'How long a small request counts as being on its way; absent where only its response proves that it arrived.',
    'upstream',
  ),
  sluice_egress_degraded: gauge('1 while shared state cannot be reached.', 'upstream'),
} as const satisfies MetricTable

type UpstreamGauge = Exclude<MetricNames<typeof table, 'gauge'>, `sluice_egress_limit_${string}`>

/** The metrics of egress. */
export const egressMetricTable: MetricTable = table

/**
 * The metrics of calls going out.
 *
 * @example
 * prometheusMetrics(register, [egressMetrics(egress)])
 */
export function egressMetrics(egress: Egress): PartMetrics {
  return partMetrics(table, (reporter) => {
    const wait = reporter.histogram('sluice_egress_wait_seconds')
    const refused = reporter.counter('sluice_egress_refused_total')
    const responses = reporter.counter('sluice_egress_responses_total')
    const seconds = reporter.histogram('sluice_egress_response_seconds')
    const failures = reporter.counter('sluice_egress_failures_total')
    const pauses = reporter.counter('sluice_egress_pauses_total')
    const retries = reporter.counter('sluice_egress_retries_total')
    const gauges: Record<UpstreamGauge, (stats: UpstreamStats) => number | undefined> = {
      sluice_egress_queue_depth: ({ depth }) => depth,
      sluice_egress_waiting: ({ waiting }) => waiting,
      sluice_egress_in_flight: ({ inFlight }) => inFlight,
      sluice_egress_paused_seconds: ({ pausedMs }) => pausedMs / 1000,
      sluice_egress_arrival_seconds: ({ arrivalMs }) => arrivalMs && arrivalMs / 1000,
      sluice_egress_degraded: ({ degraded }) => (degraded ? 1 : 0),
    }
    for (const [name, read] of Object.entries(gauges))
      reporter.gauge(name as UpstreamGauge, (set) => {
        for (const stats of egress.stats()) {
          const value = read(stats)
          if (value !== undefined) set(value, stats.name)
        }
      })
    reporter.gauge('sluice_egress_limit_used', (set) => {
      for (const { name, limits } of egress.stats()) for (const limit of limits) set(limit.used, name, limit.name)
    })
    reporter.gauge('sluice_egress_limit_amount', (set) => {
      for (const { name, limits } of egress.stats()) for (const limit of limits) set(limit.amount, name, limit.name)
    })
    return [
      egress.on('granted', ({ upstream, waitMs }) => wait(waitMs / 1000, upstream)),
      egress.on('refused', ({ upstream, reason }) => refused(1, upstream, reason)),
      egress.on('responded', ({ upstream, status, firstByteMs }) => {
        responses(1, upstream, String(status))
        seconds(firstByteMs / 1000, upstream)
      }),
      egress.on('failed', ({ upstream, reason }) => failures(1, upstream, reason)),
      egress.on('paused', ({ upstream }) => pauses(1, upstream)),
      egress.on('retried', ({ upstream }) => retries(1, upstream)),
    ]
  })
}
