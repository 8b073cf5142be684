export {
  publishRedisPolicy,
  type RedisPolicyOptions,
  type RedisPolicyPlace,
  redisPolicy,
} from '../../policy/sources/redis/redis.ts'
export type { IoredisClient, NodeRedisClient, RedisClient } from '../../redis/client.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
