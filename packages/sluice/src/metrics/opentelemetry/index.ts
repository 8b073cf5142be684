export {
  type LabelValues,
  type MetricNames,
  type MetricReport,
  type MetricReporter,
  type MetricSpec,
  type MetricTable,
  type PartMetrics,
  partMetrics,
} from '../../core/metrics.ts'
export type { Metrics } from '../compose.ts'
export { opentelemetryMetrics } from './opentelemetry-metrics.ts'
export { type TracingOptions, traceDecisions } from './trace-decisions.ts'
