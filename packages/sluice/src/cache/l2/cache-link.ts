import type { RedisHandle } from '../../redis/handle.ts'
import { namespaceOf } from '../../redis/namespaces.ts'
import { useRedis } from '../../redis/use-redis.ts'
import type { ResolvedOptions } from '../options.ts'
import { CacheRedis } from './cache-redis.ts'
import { Lookups } from './lookups.ts'
import { RedisLog } from './redis-log.ts'
import { Sets } from './sets.ts'
import { Stores } from './stores.ts'

/**
 * What a cache asks of Redis. Every call settles by its `withinMs`, and rejects when Redis did not answer by then. Keys
 * are encoded, without the prefix.
 */
export interface CacheLink {
  readonly redis: Pick<CacheRedis, 'connection' | 'isReachable'>
  readonly lookups: Pick<Lookups, 'add' | 'drain'>
  readonly stores: Pick<Stores, keyof Stores>
  readonly sets: Pick<Sets, 'set'>
  readonly log: Pick<RedisLog, 'sync' | 'invalidate' | 'subscribe' | 'waitForReplicas'>
  /** Ends the use of the sockets. */
  release(): Promise<void>
}

/** Uses a handle for a cache. */
export function openLink(handle: RedisHandle, { name, clock, fillLockMs, proofMs }: ResolvedOptions): CacheLink {
  const { redis: shared, service, prefix, release } = useRedis(handle, 'createCache.redis')
  const redis = new CacheRedis(shared, namespaceOf('cache', service, prefix, name), clock)
  const log = new RedisLog(redis, proofMs)
  const lookups = new Lookups(redis, fillLockMs)
  return { redis, log, lookups, sets: new Sets(redis, log), stores: new Stores(redis, fillLockMs), release }
}
