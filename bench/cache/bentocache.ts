import { BentoCache, bentostore } from 'bentocache'
import { memoryDriver } from 'bentocache/drivers/memory'
import { redisDriver } from 'bentocache/drivers/redis'
import { Redis } from 'ioredis'
import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, fetchOnceThenHang, namesFor, ttlSeconds, type value } from './value.ts'

export async function open(setup: Setup): Promise<Contender<typeof value | undefined>> {
  const { redisUrl, prefix, layers = 'memory', tags, lookups } = setup
  const redis = layers === 'memory' ? undefined : new Redis(redisUrl)
  let store = bentostore()
  // `serialize: false` returns the object itself, as the others do. Tags do not work with it.
  if (layers !== 'redis') store = store.useL1Layer(memoryDriver({ maxItems: 10_000, serialize: tags !== undefined }))
  if (redis) store = store.useL2Layer(redisDriver({ connection: redis as never, prefix }))
  const bento = new BentoCache({ default: 'rows', stores: { rows: store } })
  const fetch = lookups === 'stale' ? fetchOnceThenHang() : fetchOnce()
  const nameFor = namesFor(setup)
  // A stale value is returned at once, while a factory renews it.
  const times = lookups === 'stale' ? { ttl: 1, grace: `${ttlSeconds}s`, timeout: 0 } : { ttl: `${ttlSeconds}s` }
  const decide = (subject: string): Promise<typeof value> => {
    const name = nameFor(subject)
    return bento.getOrSet({ key: name, ...times, ...(tags && { tags: [...tags] }), factory: () => fetch(name) })
  }
  return contenderOf(decide, async () => {
    await bento.disconnectAll()
    redis?.disconnect()
  })
}
