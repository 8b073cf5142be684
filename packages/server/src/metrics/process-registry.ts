import { collectDefaultMetrics, Registry } from 'prom-client'

/** A registry with the metrics of the Node process. */
export function processRegistry(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // These are gauges with the name of a counter, which Prometheus' own check refuses; the same is there without the
  // ending.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`)
  return registry
}
