export {
  publishRedisPolicy,
  type RedisPolicyOptions,
  type RedisPolicyPlace,
  redisPolicy,
} from '../../policy/sources/redis.ts'
export type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
