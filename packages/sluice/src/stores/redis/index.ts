export {
  publishRedisPolicy,
  type RedisPolicyOptions,
  type RedisPolicyPlace,
  redisPolicy,
} from '../../policy/sources/redis/redis.ts'
export type { IoredisClient, NodeRedisClient, RedisClient } from '../../redis/client.ts'
export type { CommandOptions, RedisArgument } from '../../redis/connection/connection.ts'
export { parseInfo, type ServerFacts, serverFacts } from '../../redis/info.ts'
export type { Subscriber } from '../../redis/messages.ts'
export type { MsgpackReader, Packed } from '../../redis/msgpack.ts'
export { openRedis, type RedisOptions } from '../../redis/open-redis.ts'
export type { Lane, NodeFacts, Redis, RedisCommandOptions, ScriptReply, ScriptRequest } from '../../redis/redis.ts'
export type { ReadCall } from '../../redis/runner/read-call.ts'
export type { ScriptCall } from '../../redis/runner/script-call.ts'
export type { Script } from '../../redis/script.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
