import type { RedisClient } from '../client.ts'
import { type RedisOptions, resolveRedisOptions } from '../redis-options.ts'
import { SharedRedis } from '../shared-redis.ts'

/** The sockets of a client without a handle, for tests of what stands on them. */
export function sharedRedis(client: RedisClient, options: RedisOptions = {}): SharedRedis {
  return new SharedRedis(client, resolveRedisOptions(options).connection)
}
