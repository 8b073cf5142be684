export * from '../own-metrics.ts'
export { opentelemetryMetrics } from './opentelemetry-metrics.ts'
export { type TracingOptions, traceDecisions } from './trace-decisions.ts'
