import type { openReports, ReportDestination, ReportReader } from 'sluice/reports'

/** Where reports of other processes are kept, and where all of them are read. */
export interface KeptReports {
  readonly board: ReportDestination
  /** This process in the reports. */
  readonly replica: string
  /** Those in Redis, whose processes may take actions; undefined without Redis. */
  readonly shared: ReturnType<typeof openReports> | undefined
  readonly readers: readonly ReportReader[]
  readonly sendOwn: () => Promise<void>
}
