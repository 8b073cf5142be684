import { Counter, collectDefaultMetrics, Registry } from 'prom-client'
import type { Limiter } from 'sluice'
import { prometheusMetrics } from 'sluice/prometheus'
import type { MetricsPage } from '../http/api-parts.ts'

export interface DaemonMetric {
  readonly type: 'counter'
  readonly help: string
  readonly labels: readonly string[]
}

/** The metrics of the daemon itself, beside those of the limiter and of the process. */
export const daemonMetricTable: Readonly<Record<string, DaemonMetric>> = {
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
}

export interface DaemonMetrics extends MetricsPage {
  watch(limiter: Limiter, options?: { readonly decisionsOnly?: boolean }): () => void
  /** Counts one gRPC call that was answered. */
  called(status: string): void
}

/** Makes the daemon's registry of metrics. */
export function daemonMetrics(): DaemonMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // These are gauges with the name of a counter, which Prometheus' own check refuses; the same is there without the ending.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`)
  const sluice = prometheusMetrics({ registry })
  const http = counted(registry, 'sluice_http_requests_total')
  const grpc = counted(registry, 'sluice_grpc_requests_total')
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    watch: (limiter, options) => sluice.watch(limiter, options),
    answered: (route, status) => http(`${status}`, route),
    called: (status) => grpc(status, ''),
  }
}

/** A counter that is added to on every request: sums are kept plainly and handed over when asked for. */
function counted(registry: Registry, name: string): (status: string, route: string) => void {
  const { help, labels } = daemonMetricTable[name]!
  const sums = new Map<string, Map<string, number>>()
  new Counter({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset()
      for (const [route, byStatus] of sums) {
        for (const [status, count] of byStatus) this.inc(route === '' ? { status } : { route, status }, count)
      }
    },
  })
  return (status, route) => {
    let byStatus = sums.get(route)
    if (byStatus === undefined) {
      byStatus = new Map()
      sums.set(route, byStatus)
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }
}
