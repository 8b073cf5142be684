import { Counter, register as defaultRegistry, Gauge, Histogram, type Registry } from 'prom-client'
import type { PartMetrics } from '../core/observe/metrics.ts'
import { Composer, type Metrics, type MetricsBackend } from './compose.ts'

export * from './own-metrics.ts'

/** Parts that share a registry share its metrics, also when they are given in separate calls. */
const composers = new WeakMap<Registry, Composer>()

/**
 * Registers the metrics of these parts with prom-client. Only metrics of parts that are given exist.
 *
 * @example
 * const metrics = prometheusMetrics(register, [limiterMetrics(limiter)])
 * app.get('/metrics', async (c) => c.text(await register.metrics()))
 * metrics.close()
 */
export function prometheusMetrics(registry: Registry = defaultRegistry, parts: readonly PartMetrics[] = []): Metrics {
  let composer = composers.get(registry)
  if (composer === undefined) {
    composer = new Composer(prometheusBackend(registry))
    composers.set(registry, composer)
  }
  return composer.compose(parts)
}

function prometheusBackend(registry: Registry): MetricsBackend {
  const registers = [registry]
  return {
    counter(name, { help, labels }, samples) {
      const counter = new Counter({
        ...{ name, help, labelNames: [...labels], registers },
        collect: () => {
          counter.reset()
          for (const { labels, value } of samples()) counter.inc(labels, value)
        },
      })
    },
    gauge(name, { help, labels }, samples) {
      const gauge = new Gauge({
        ...{ name, help, labelNames: [...labels], registers },
        collect: () => {
          gauge.reset()
          for (const { labels, value } of samples()) gauge.set(labels, value)
        },
      })
    },
    histogram(name, { help, labels, buckets = [] }) {
      const histogram = new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers })
      return {
        observe: (value, labels) => histogram.observe(labels, value),
        forget: (labels) => void forgetSeries(histogram, labels),
      }
    },
    has: (name) => registry.getSingleMetric(name) !== undefined,
  }
}

/** prom-client removes a series only by all of its labels. */
async function forgetSeries(histogram: Histogram, labels: Readonly<Record<string, string>>): Promise<void> {
  const { values } = await histogram.get()
  for (const { labels: found, metricName } of values)
    if (metricName?.endsWith('_count') && Object.keys(labels).every((name) => found[name] === labels[name]))
      histogram.remove(found)
}
