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
export { Latencies, latencyQuantile } from '../runtime/latencies.ts'
export { type DaemonReportsOptions, daemonReports } from './daemon-reports.ts'
export { type ReportDestination, type ReportReader, reportTtlMs } from './destination.ts'
export { memoryReports } from './memory-reports.ts'
export { openReports } from './open-reports.ts'
export { type ReceivedReport, readReport } from './read-report.ts'
export { partReport, type ReportEvents, type Reports, type ReportsOptions, startReports } from './start-reports.ts'
