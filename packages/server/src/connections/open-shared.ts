import type { Cluster, Redis } from 'ioredis'
import { openRedis, type RedisHandle, type RedisOptions } from 'sluice/redis'
import type { Opened } from '../opened.ts'
import type { RedisTarget } from './redis-target.ts'

/** The Redis that the parts of a process share, and its client. */
export interface SharedRedis {
  readonly redis: RedisHandle
  readonly client: Redis | Cluster
}

/** Opens the Redis of a process; undefined without one. The driver is many modules: without Redis it is not loaded. */
export async function openShared(
  target: RedisTarget | undefined,
  options: RedisOptions,
  opened: Opened,
): Promise<SharedRedis | undefined> {
  if (target === undefined) return undefined
  const { redisClient } = await import('./redis-client.ts')
  const client = redisClient(target)
  opened.push(() => client.disconnect())
  const redis = openRedis(client, options)
  opened.push(() => redis.close())
  return { redis, client }
}
