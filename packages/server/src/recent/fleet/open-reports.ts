import {
  type LimiterCounter,
  memoryReports,
  openReports as openRedisReports,
  partReport,
  type Reports,
  startReports,
} from 'sluice/reports'
import type { Opened, OpenLimiter } from '../../open-limiter.ts'
import type { KeptReports } from './kept-reports.ts'

/**
 * Reports how this daemon stands like every other process of its service, and reads the reports of all: through Redis
 * if it has one, and those that processes without Redis post to it.
 */
export function openReports(
  { limiter, redis }: OpenLimiter,
  counter: LimiterCounter,
  opened: Opened,
): KeptReports & { readonly add: Reports['add'] } {
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
