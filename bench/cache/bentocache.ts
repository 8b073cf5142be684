import { BentoCache, bentostore } from 'bentocache'
import { memoryDriver } from 'bentocache/drivers/memory'
import { redisDriver } from 'bentocache/drivers/redis'
import { Redis } from 'ioredis'
import type { Contender, Setup } from '../contenders/contender.ts'
import { contenderOf, fetchOnce, ttlSeconds, type value } from './value.ts'

export async function open({
  redisUrl,
  prefix,
  layers = 'memory',
  tags,
}: Setup): Promise<Contender<typeof value | undefined>> {
  const redis = layers === 'memory' ? undefined : new Redis(redisUrl)
  let store = bentostore()
  // `serialize: false` hands out the object itself, as the others do. Tags do not work with it.
  if (layers !== 'redis') store = store.useL1Layer(memoryDriver({ maxItems: 10_000, serialize: tags !== undefined }))
  if (redis) store = store.useL2Layer(redisDriver({ connection: redis as never, prefix }))
  const bento = new BentoCache({ default: 'rows', stores: { rows: store } })
  const fetch = fetchOnce()
  const decide = (subject: string): Promise<typeof value> =>
    bento.getOrSet({
      key: subject,
      ttl: `${ttlSeconds}s`,
      ...(tags && { tags: [...tags] }),
      factory: () => fetch(subject),
    })
  return contenderOf(decide, async () => {
    await bento.disconnectAll()
    redis?.disconnect()
  })
}
