import type { RedisHandle } from '../redis/handle.ts'
import { useRedis } from '../redis/use-redis.ts'
import type { ReportDestination, ReportReader } from './destination.ts'
import { redisReports } from './redis-reports.ts'

/**
 * The reports of all processes that share a Redis, for a daemon: reads them, and is where its own can go.
 *
 * @example const fleet = await openReports(redis).read('shop', 500)
 */
export function openReports(redis: RedisHandle): ReportDestination & ReportReader {
  const used = useRedis(redis, 'openReports redis')
  return redisReports(used.redis, used.prefix, used.release)
}
