// What a part of your own needs to have metrics; every backend exports it.
export {
  type LabelValues,
  type MetricNames,
  type MetricReport,
  type MetricReporter,
  type MetricSpec,
  type MetricTable,
  type PartMetrics,
  partMetrics,
} from '../core/observe/metrics.ts'
export type { Metrics } from './compose.ts'
