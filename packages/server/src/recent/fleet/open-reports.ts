import {
  type LimiterCounter,
  memoryReports,
  openReports as openRedisReports,
  partReport,
  type ReportDestination,
  type ReportReader,
  type Reports,
  startReports,
} from 'sluice/reports'
import type { OpenLimiter } from '../../open-limiter.ts'
import type { Opened } from '../../opened.ts'

/**
 * Reports how this daemon stands like every other process of its service, and reads the reports of all: through Redis
 * if it has one, and those that processes without Redis post to it.
 */
export function openReports({ limiter, redis }: OpenLimiter, counter: LimiterCounter, opened: Opened): KeptReports {
  const board = memoryReports()
  const shared = redis === undefined ? undefined : openRedisReports(redis)
  const reports = startReports({
    service: limiter.policy.service,
    to: shared ?? board,
    parts: [partReport('limiter', counter)],
  })
  opened.push(() => reports.close())
  return {
    board,
    replica: reports.replica,
    shared,
    readers: shared === undefined ? [board] : [shared, board],
    sendOwn: () => reports.send(),
    add: (part) => reports.add(part),
  }
}

/** Where reports of other processes are kept, and where all of them are read. */
export interface KeptReports {
  readonly board: ReportDestination
  /** This process in the reports. */
  readonly replica: string
  /** Those in Redis, whose processes may take actions; undefined without Redis. */
  readonly shared: ReturnType<typeof openRedisReports> | undefined
  readonly readers: readonly ReportReader[]
  readonly sendOwn: () => Promise<void>
  /** Reports a part of this daemon that came later. */
  readonly add: Reports['add']
}
