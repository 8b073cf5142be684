import type { RedisHandle } from '../redis/handle.ts'
import { useRedis } from '../redis/use-redis.ts'
import type { ReportDestination, ReportReader } from './destination.ts'
import { type ActionOrders, redisFleet } from './redis-fleet.ts'
import { redisReports } from './redis-reports.ts'

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
