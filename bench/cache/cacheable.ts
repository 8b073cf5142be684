import { Cacheable, Keyv } from 'cacheable'
import { Redis } from 'ioredis'

import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, namesFor, ttlSeconds, type value } from './value.ts'

/** The same client as the others use, in the form that Keyv needs: less work than its own adapter does. */
function ioredisStore(redis: Redis, prefix: string) {
  return {
    get: async (name: string) => (await redis.get(prefix + name)) ?? undefined,
    set: async (name: string, text: string, ttlMs?: number) => {
      await redis.set(prefix + name, text, 'PX', ttlMs ?? ttlSeconds * 1000)
      return true
    },
    delete: async (name: string) => (await redis.del(prefix + name)) > 0,
    clear: async () => undefined,
    opts: {},
    on: () => undefined,
  }
}

export async function open(setup: Setup): Promise<Contender<typeof value | undefined>> {
  const { redisUrl, prefix, layers = 'memory' } = setup
  const redis = layers === 'memory' ? undefined : new Redis(redisUrl)
  const inRedis = redis && new Keyv({ store: ioredisStore(redis, prefix) as never, useKeyPrefix: false })
  const cache =
    layers === 'redis'
      ? new Cacheable({ primary: inRedis as never })
      : new Cacheable({ ...(inRedis && { secondary: inRedis as never }), ttl: `${ttlSeconds}s` })
  const fetch = fetchOnce()
  const nameFor = namesFor(setup)
  const decide = (subject: string): Promise<typeof value | undefined> => {
    const name = nameFor(subject)
    return cache.getOrSet(name, async () => fetch(name), { ttl: `${ttlSeconds}s`, throwErrors: true })
  }
  return contenderOf(decide, () => redis?.disconnect())
}
