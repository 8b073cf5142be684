import { collectDefaultMetrics, Registry } from 'prom-client'
import { type Limiter, type LimiterMetricsOptions, limiterMetrics } from 'sluice'
import { type MetricTable, type PartMetrics, partMetrics, prometheusMetrics } from 'sluice/prometheus'
import { version } from '../version.ts'

const table = {
  sluice_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels say which version runs, on which Node.',
    labels: ['version', 'node'],
  },
  sluice_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests that were answered, by route and status.',
    labels: ['route', 'status'],
  },
  sluice_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the first byte of an HTTP request to its answer, by route.',
    labels: ['route'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  sluice_http_requests_in_flight: {
    type: 'gauge',
    help: 'HTTP requests that are being answered.',
    labels: [],
  },
  sluice_store_up: {
    type: 'gauge',
    help: '1 while the store answers, also when no decisions are asked for; 0 while it does not. Looked at every 10 s.',
    labels: [],
  },
  sluice_grpc_requests_total: {
    type: 'counter',
    help: 'Calls of the Envoy rate-limit service, by gRPC status.',
    labels: ['status'],
  },
  sluice_grpc_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from a call of the Envoy rate-limit service to its answer.',
    labels: [],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
} as const satisfies MetricTable

/** The metrics of the daemon itself, beside those of the limiter and of the process. */
export const daemonMetricTable: MetricTable = table

export interface DaemonMetrics extends MetricsPage {
  watch(limiter: Limiter, options?: LimiterMetricsOptions): () => void
  /** Adds the metrics of another part; the returned function removes its listeners. */
  add(part: PartMetrics): () => void
  /** Counts one gRPC call that was answered, and how long it took. */
  called(status: string, tookMs: number): void
  /** Says whether the store answers; without a word there is no gauge. */
  storeUp(isUp: boolean): void
}

/** Makes the daemon's registry of metrics. */
export function daemonMetrics(): DaemonMetrics {
  const registry = processRegistry()
  let inFlight = 0
  let http!: (value: number, route: string, status: string) => void
  let duration!: (seconds: number, route: string) => void
  let grpc!: (value: number, status: string) => void
  let grpcDuration!: (seconds: number) => void
  let isStoreUp: boolean | undefined
  const daemon = partMetrics(table, (reporter) => {
    reporter.gauge('sluice_build_info', (set) => set(1, version, process.versions.node))
    reporter.gauge('sluice_http_requests_in_flight', (set) => set(inFlight))
    http = reporter.counter('sluice_http_requests_total')
    duration = reporter.histogram('sluice_http_request_duration_seconds')
    grpc = reporter.counter('sluice_grpc_requests_total')
    grpcDuration = reporter.histogram('sluice_grpc_request_duration_seconds')
    reporter.gauge('sluice_store_up', (set) => {
      if (isStoreUp !== undefined) set(isStoreUp ? 1 : 0)
    })
    return []
  })
  const metrics = prometheusMetrics(registry, [daemon])
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    add: (part) => metrics.add(part),
    watch: (limiter, options) => metrics.add(limiterMetrics(limiter, options)),
    begin() {
      const startedMs = performance.now()
      inFlight++
      return (route, status) => {
        inFlight--
        http(1, route, `${status}`)
        duration((performance.now() - startedMs) / 1000, route)
      }
    },
    called(status, tookMs) {
      grpc(1, status)
      grpcDuration(tookMs / 1000)
    },
    storeUp(isUp) {
      isStoreUp = isUp
    },
  }
}

/** The metrics, as Prometheus asks for them. */
export interface MetricsPage {
  readonly contentType: string
  text(): Promise<string>
  /** One HTTP request came in; the returned function counts its answer. */
  begin(): (route: string, status: number) => void
}

/** A registry with the metrics of the Node process. */
export function processRegistry(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // These are gauges with the name of a counter, which Prometheus' own check refuses; the same is there without the
  // ending.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`)
  return registry
}
