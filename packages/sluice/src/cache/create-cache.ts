import type { RedisClient } from '../redis/client.ts'
import { namespaceOf } from '../redis/namespaces.ts'
import { useRedis } from '../redis/open-redis.ts'
import type { Redis } from '../redis/redis.ts'
import type { Cache } from './cache.ts'
import { maxKeys, maxScopes } from './l1/l1.ts'
import { RedisLink } from './link/redis-link.ts'
import { type CommonCacheOptions, type ResolvedOptions, resolveOptions } from './options.ts'
import { TwoLevelCache } from './two-level-cache.ts'

export interface CacheOptions extends CommonCacheOptions {
  /** A client of ioredis or node-redis, or a handle from `openRedis`. Without it, the cache is in process only. */
  readonly redis?: RedisClient | Redis
}

/**
 * Creates a read-through cache: in process, and in Redis if a client is passed.
 *
 * @example
 * const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })
 * const cache = await createCache({ redis: client })
 * const price = await cache.getOrFetch(keys.price('XLM'), () => db.price('XLM'))
 * await cache.invalidate(keys.price('XLM'), { mode: 'strict' })
 */
export async function createCache(options: CacheOptions = {}): Promise<Cache> {
  const resolved = resolveOptions(options)
  const cache = new TwoLevelCache(resolved, options.redis && linkTo(options.redis, resolved))
  await cache.ready()
  return cache
}

function linkTo(given: RedisClient | Redis, { namespace, clock, fillLockMs: lockMs }: ResolvedOptions): RedisLink {
  const { redis, release } = useRedis(given, {}, 'createCache')
  return new RedisLink(redis, { prefix: namespaceOf('cache', namespace), maxKeys, maxScopes, lockMs, clock, release })
}
