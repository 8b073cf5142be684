import {
  type LimiterCounter,
  memoryReports,
  partReport,
  type Reports,
  redisReports,
  startReports,
} from 'sluice/reports'
import type { ServerConfig } from '../config/config.ts'
import type { Opened, OpenLimiter } from '../open-limiter.ts'
import type { KeptReports } from './kept-reports.ts'

/**
 * Reports how this daemon stands like every other process of its service, and reads the reports of all: through Redis
 * if it has one, and those that processes without Redis post to it.
 */
export function openReports(
  { limiter, redis }: OpenLimiter,
  { redisPrefix }: ServerConfig,
  counter: LimiterCounter,
  opened: Opened,
): KeptReports & { readonly add: Reports['add'] } {
  const board = memoryReports()
  const shared = redis === undefined ? undefined : redisReports(redis, { prefix: redisPrefix })
  const reports = startReports({
    service: limiter.policy.service,
    to: shared ?? board,
    parts: [partReport('limiter', counter)],
  })
  opened.push(() => reports.close())
  return {
    board,
    replica: reports.replica,
    readers: shared === undefined ? [board] : [shared, board],
    sendOwn: () => reports.send(),
    add: (part) => reports.add(part),
  }
}
