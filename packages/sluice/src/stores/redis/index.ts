export type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts'
export { redisStore, type RedisStoreOptions } from './redis-store.ts'
