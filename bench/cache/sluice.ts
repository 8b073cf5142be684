import { Redis } from 'ioredis'
import { createCache, defineKeys, key } from 'sluice/cache'
import { openRedis } from 'sluice/redis'
import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, fetchOnceThenHang, namesFor, ttlSeconds, type value } from './value.ts'

/** `layers`: in process only, in Redis only, or both; with tags where the setup has them. */
export async function open(setup: Setup): Promise<Contender<typeof value | undefined>> {
  const { redisUrl, prefix, layers = 'memory', tags, lookups } = setup
  const times = lookups === 'stale' ? { ttl: 1, staleWhileRevalidate: `${ttlSeconds}s` } : { ttl: `${ttlSeconds}s` }
  const keys = defineKeys({ row: key('row', ['id'], { ...(times as { ttl: '1h' }), ...(tags && { tags }) }) })
  const redis = layers === 'memory' ? undefined : new Redis(redisUrl)
  const cache = await createCache({
    // Where values must stay stale, their renewals do not end, and all of them are in flight.
    ...(lookups === 'stale' && { maxFetches: 10_000, fetchDeadline: `${ttlSeconds}s` as const }),
    ...(redis && { redis: openRedis(redis), redisDeadline: '2s', name: prefix }),
    ...(layers === 'redis' ? { memory: false as const } : { memory: { maxEntries: 10_000 } }),
  })
  const fetch = lookups === 'stale' ? fetchOnceThenHang() : fetchOnce()
  const nameFor = namesFor(setup)
  const decide = (subject: string): Promise<typeof value> => {
    const name = nameFor(subject)
    return cache.getOrFetch(keys.row(name), () => fetch(name))
  }
  return contenderOf(decide, async () => {
    await cache.close()
    redis?.disconnect()
  })
}
