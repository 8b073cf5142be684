import { Redis } from 'ioredis'
import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, ttlSeconds, type value } from './value.ts'

/** One GET and one JSON.parse per lookup: a cache that does nothing else. */
export async function open({ redisUrl, prefix }: Setup): Promise<Contender<typeof value | undefined>> {
  const redis = new Redis(redisUrl)
  const fetch = fetchOnce()
  const decide = async (subject: string): Promise<typeof value> => {
    const text = await redis.get(prefix + subject)
    if (text !== null) return JSON.parse(text)
    const fetched = fetch(subject)
    await redis.set(prefix + subject, JSON.stringify(fetched), 'EX', ttlSeconds)
    return fetched
  }
  return contenderOf(decide, () => redis.disconnect())
}
