export { type RedisPolicyOptions, redisPolicy } from '../../policy/sources/redis/redis.ts'
export type { RedisClient } from '../../redis/client.ts'

export type { RedisHandle } from '../../redis/handle.ts'

export { parseInfo, type ServerFacts, serverFacts } from '../../redis/info.ts'
export type { RedisOptions } from '../../redis/redis-options.ts'
export { type UsedRedis, useRedis } from '../../redis/use-redis.ts'
export { openRedis } from './open-redis.ts'
