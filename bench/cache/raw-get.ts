import { Redis } from 'ioredis'
import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, namesFor, ttlSeconds, type value } from './value.ts'

/** One GET and one JSON.parse per lookup: a cache that does nothing else. */
export async function open(setup: Setup): Promise<Contender<typeof value | undefined>> {
  const { redisUrl, prefix } = setup
  const redis = new Redis(redisUrl)
  const fetch = fetchOnce()
  const nameFor = namesFor(setup)
  const decide = async (subject: string): Promise<typeof value> => {
    const name = nameFor(subject)
    const text = await redis.get(prefix + name)
    if (text !== null) return JSON.parse(text)
    const fetched = fetch(name)
    await redis.set(prefix + name, JSON.stringify(fetched), 'EX', ttlSeconds)
    return fetched
  }
  return contenderOf(decide, () => redis.disconnect())
}
