import { LRUCache } from 'lru-cache'
import type { Contender } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, ttlSeconds, value } from './value.ts'

/**
 * A map with an order: no second level, no single flight, no invalidation elsewhere. The upper bound of what is
 * possible.
 */
export async function open(): Promise<Contender<typeof value | undefined>> {
  const cache = new LRUCache<string, typeof value>({ max: 10_000, ttl: ttlSeconds * 1000 })
  const fetch = fetchOnce()
  return contenderOf(async (subject) => {
    const known = cache.get(subject)
    if (known !== undefined) return known
    const fetched = fetch(subject)
    cache.set(subject, fetched)
    return fetched
  })
}
