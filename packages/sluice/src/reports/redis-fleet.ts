import { randomUUID } from 'node:crypto'
import { maxActions, type PartAction } from '../core/observe/report.ts'
import type { RedisHandle } from '../redis/handle.ts'
import type { Redis } from '../redis/redis.ts'
import { useRedis } from '../redis/use-redis.ts'
import { type ReportDestination, type ReportReader, reportTtlMs } from './destination.ts'
import { type ReceivedReport, readReport } from './read-report.ts'
import { listServices, redisReports, reportsKey } from './redis-reports.ts'
import { order, reports } from './scripts.gen.ts'

/** A script's reply must fit Lua's stack, and one look must not move a hundred megabytes. */
const mostRead = 500

/** What became of an order. */
export type OrderAnswer =
  /** The id is that of the same order before it, if that has not been taken yet. */
  | { readonly state: 'waiting'; readonly id: string }
  /** No such process has reported of late. */
  | { readonly state: 'absent' }
  /** Too many orders wait for the process. */
  | { readonly state: 'full' }

/** Orders actions from the parts of other processes. */
interface ActionOrders {
  order(service: string, replica: string, action: PartAction, withinMs: number): Promise<OrderAnswer>
}

/** The processes that report to a Redis, as a daemon sees them. */
function redisFleet(redis: Redis, prefix: string): Omit<ReportReader, 'close'> & ActionOrders {
  return {
    services: (withinMs) => listServices(redis, prefix, '', withinMs),
    async read(service, withinMs) {
      const { reply } = await redis.runScript({
        script: reports,
        keys: [reportsKey(service, prefix)],
        args: [String(reportTtlMs), String(mostRead)],
        withinMs,
        lane: 'values',
      })
      reply.read()
      const found: ReceivedReport[] = []
      for (let left = Number(reply.read()); left > 0; left--) {
        const ageMs = Number(reply.read())
        const parsed = readReport(String(reply.read()))
        if (parsed !== undefined) found.push({ report: parsed, ageMs })
      }
      return found
    },
    async order(service, replica, { kind, name, item, action }, withinMs) {
      // The same order has the same text, whoever gives it.
      const text = JSON.stringify({ kind, name, item, action })
      const { reply } = await redis.runScript({
        script: order,
        keys: [reportsKey(service, prefix)],
        args: [replica, randomUUID(), text, String(reportTtlMs), String(maxActions)],
        withinMs,
        lane: 'values',
      })
      const [state, id] = [String(reply.read()), String(reply.read())]
      return state === 'waiting' ? { state, id } : { state: state === 'full' ? state : 'absent' }
    },
  }
}

/**
 * The reports of all processes that share a Redis, for a daemon: reads them, is where its own can go, and orders
 * actions from processes that allow them.
 *
 * @example const fleet = await openReports(redis).read('shop', 500)
 */
export function openReports(redis: RedisHandle): ReportDestination & ReportReader & ActionOrders {
  const { redis: shared, prefix, release } = useRedis(redis, 'openReports redis')
  return { ...redisReports(shared, prefix, { release }), ...redisFleet(shared, prefix) }
}
