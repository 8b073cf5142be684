import type { Cache } from './cache.ts'
import { type CommonCacheOptions, resolveOptions } from './options.ts'
import { TwoLevelCache } from './two-level-cache.ts'

export interface CacheOptions extends CommonCacheOptions {}

/**
 * Creates a read-through cache: in process, and in Redis where a client is given.
 *
 * @example
 * const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })
 * const cache = await createCache()
 * const price = await cache.getOrFetch(keys.price('XLM'), () => db.price('XLM'))
 */
export async function createCache(options: CacheOptions = {}): Promise<Cache> {
  return new TwoLevelCache(resolveOptions(options), undefined)
}
