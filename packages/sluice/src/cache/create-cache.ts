import type { RedisHandle } from '../redis/handle.ts'
import { reportPart } from '../redis/report-part.ts'
import type { Cache } from './cache.ts'
import { openLink } from './l2/cache-link.ts'
import { type CommonCacheOptions, resolveOptions } from './options.ts'
import { TwoLevelCache } from './two-level-cache.ts'

export interface CacheOptions extends CommonCacheOptions {
  /** A handle of `openRedis`. Without it, the cache is in process only. */
  readonly redis?: RedisHandle
}

/**
 * Creates a read-through cache: in process, and in Redis if a handle is passed.
 *
 * @example
 * const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })
 * const cache = await createCache({ redis })
 * const price = await cache.getOrFetch(keys.price('XLM'), () => db.price('XLM'))
 * await cache.invalidate(keys.price('XLM'), { mode: 'strict' })
 */
export async function createCache(options: CacheOptions = {}): Promise<Cache> {
  const resolved = resolveOptions(options)
  const link = options.redis && openLink(options.redis, resolved)
  const cache = new TwoLevelCache(resolved, link, () => endReport())
  const endReport = reportPart(options.redis, { kind: 'cache', name: cache.name, stats: () => cache.stats() })
  await cache.ready()
  return cache
}
