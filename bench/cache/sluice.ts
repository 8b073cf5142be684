import { Redis } from 'ioredis'
import { createCache, defineKeys, key } from 'sluice/cache'
import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, ttlSeconds, type value } from './value.ts'

/** `layers`: in process only, in Redis only, or both; with tags where asked for. */
export async function open({
  redisUrl,
  prefix,
  layers = 'memory',
  tags,
}: Setup): Promise<Contender<typeof value | undefined>> {
  const keys = defineKeys({ row: key('row', ['id'], { ttl: `${ttlSeconds}s`, ...(tags && { tags }) }) })
  const redis = layers === 'memory' ? undefined : new Redis(redisUrl)
  const cache = await createCache({
    ...(redis && { redis, redisDeadline: '2s', namespace: prefix }),
    ...(layers === 'redis' ? { memory: false as const } : { memory: { maxEntries: 10_000 } }),
  })
  const fetch = fetchOnce()
  const decide = (subject: string): Promise<typeof value> => cache.getOrFetch(keys.row(subject), () => fetch(subject))
  return contenderOf(decide, async () => {
    await cache.close()
    redis?.disconnect()
  })
}
