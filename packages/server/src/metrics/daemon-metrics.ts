import { collectDefaultMetrics, Registry } from 'prom-client'
import { type Limiter, type LimiterMetricsOptions, limiterMetrics } from 'sluice'
import { type MetricTable, partMetrics, prometheusMetrics } from 'sluice/prometheus'
import type { MetricsPage } from '../http/api-parts.ts'

const table = {
  sluice_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests that were answered, by route and status.',
    labels: ['route', 'status'],
  },
  sluice_grpc_requests_total: {
    type: 'counter',
    help: 'Calls of the Envoy rate-limit service, by gRPC status.',
    labels: ['status'],
  },
} as const satisfies MetricTable

/** The metrics of the daemon itself, beside those of the limiter and of the process. */
export const daemonMetricTable: MetricTable = table

export interface DaemonMetrics extends MetricsPage {
  watch(limiter: Limiter, options?: LimiterMetricsOptions): () => void
  /** Counts one gRPC call that was answered. */
  called(status: string): void
}

/** Makes the daemon's registry of metrics. */
export function daemonMetrics(): DaemonMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // These are gauges with the name of a counter, which Prometheus' own check refuses; the same is there without the ending.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`)
  let http!: (value: number, route: string, status: string) => void
  let grpc!: (value: number, status: string) => void
  const daemon = partMetrics(table, (reporter) => {
    http = reporter.counter('sluice_http_requests_total')
    grpc = reporter.counter('sluice_grpc_requests_total')
    return []
  })
  const metrics = prometheusMetrics(registry, [daemon])
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    watch: (limiter, options) => metrics.add(limiterMetrics(limiter, options)),
    answered: (route, status) => http(1, route, `${status}`),
    called: (status) => grpc(1, status),
  }
}
