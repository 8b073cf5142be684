import { type MetricNames, type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import type { Egress, UpstreamStats } from './egress.ts'

const waitBuckets = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60] as const
const answerBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

const table = {
  sluice_egress_wait_seconds: {
    type: 'histogram',
    help: 'How long calls waited for their grants.',
    labels: ['upstream'],
    buckets: waitBuckets,
  },
  sluice_egress_refused_total: {
    type: 'counter',
    help: 'Calls that were not given a grant, by reason: queue-full, wait-too-long, closed or breaker-open.',
    labels: ['upstream', 'reason'],
  },
  sluice_egress_responses_total: {
    type: 'counter',
    help: 'Responses of vendors, by status.',
    labels: ['upstream', 'status'],
  },
  sluice_egress_response_seconds: {
    type: 'histogram',
    help: 'From the head of a request to the head of its response.',
    labels: ['upstream'],
    buckets: answerBuckets,
  },
  sluice_egress_failures_total: {
    type: 'counter',
    help: 'Calls without a response, by reason: unreachable, reset, timeout or aborted.',
    labels: ['upstream', 'reason'],
  },
  sluice_egress_pauses_total: {
    type: 'counter',
    help: 'Pauses that a vendor asked this process for.',
    labels: ['upstream'],
  },
  sluice_egress_retries_total: {
    type: 'counter',
    help: 'Calls that were made again.',
    labels: ['upstream'],
  },
  sluice_egress_queue_depth: {
    type: 'gauge',
    help: 'Calls that wait for a grant, on all replicas together.',
    labels: ['upstream'],
  },
  sluice_egress_waiting: {
    type: 'gauge',
    help: 'Calls of this process that wait for a grant.',
    labels: ['upstream'],
  },
  sluice_egress_in_flight: {
    type: 'gauge',
    help: 'Calls of this process that hold a grant.',
    labels: ['upstream'],
  },
  sluice_egress_limit_used: {
    type: 'gauge',
    help: 'Units of each limit that are taken, on all replicas together.',
    labels: ['upstream', 'limit'],
  },
  sluice_egress_limit_amount: {
    type: 'gauge',
    help: 'Units of each limit.',
    labels: ['upstream', 'limit'],
  },
  sluice_egress_paused_seconds: {
    type: 'gauge',
    help: 'For how much longer the upstream is paused.',
    labels: ['upstream'],
  },
  sluice_egress_arrival_seconds: {
    type: 'gauge',
    help: 'How long a small request counts as being on its way; absent where only its response proves that it arrived.',
    labels: ['upstream'],
  },
  sluice_egress_degraded: {
    type: 'gauge',
    help: '1 while shared state cannot be reached.',
    labels: ['upstream'],
  },
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
    const gauge = (name: UpstreamGauge, read: (stats: UpstreamStats) => number | undefined): void =>
      reporter.gauge(name, (set) => {
        for (const stats of egress.stats()) {
          const value = read(stats)
          if (value !== undefined) set(value, stats.name)
        }
      })
    gauge('sluice_egress_queue_depth', ({ depth }) => depth)
    gauge('sluice_egress_waiting', ({ waiting }) => waiting)
    gauge('sluice_egress_in_flight', ({ inFlight }) => inFlight)
    gauge('sluice_egress_paused_seconds', ({ pausedMs }) => pausedMs / 1000)
    gauge('sluice_egress_arrival_seconds', ({ arrivalMs }) => arrivalMs && arrivalMs / 1000)
    gauge('sluice_egress_degraded', ({ degraded }) => (degraded ? 1 : 0))
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
