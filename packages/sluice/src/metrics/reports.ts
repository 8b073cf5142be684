export {
  maxReportBytes,
  type PartKind,
  type Report,
  type ReportPart,
  type ReportSection,
  reportVersion,
} from '../core/observe/report.ts'
export { type DecisionCounts, DecisionStats, type RuleStats } from '../limiter/stats/decision-stats.ts'
export type { HotKey } from '../limiter/stats/hot-keys.ts'
export { LimiterCounter } from '../limiter/stats/limiter-counter.ts'
export type { LimiterStats, RecountStats } from '../limiter/stats/limiter-stats.ts'
export { type DaemonReportsOptions, daemonReports } from '../reports/daemon-reports.ts'
export { type ReportDestination, type ReportReader, reportTtlMs } from '../reports/destination.ts'
export { memoryReports } from '../reports/memory-reports.ts'
export { type ReceivedReport, readReport } from '../reports/read-report.ts'
export { openReports } from '../reports/redis-fleet.ts'
export {
  partReport,
  type ReportEvents,
  type Reports,
  type ReportsOptions,
  startReports,
} from '../reports/start-reports.ts'
export { Latencies, latencyQuantile } from '../runtime/latencies.ts'
