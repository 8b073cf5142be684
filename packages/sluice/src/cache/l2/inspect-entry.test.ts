import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRedis } from '../../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { createCache, defineKeys, inspectEntry, key } from '../index.ts'

let server: RedisServer
let client: Redis

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

test('any key of a cache reads back: its parts, its age, its tags and its value', async () => {
  const keys = defineKeys({ price: key('price', ['assetId', 'n'], { ttl: '60s', tags: ['a b'] }) })
  const handle = openRedis(client, { reports: false })
  const cache = await createCache({
    redis: handle,
    name: 'my shop',
    redisDeadline: '2s',
  })
  await cache.set(keys.price('a/b', 5), { usd: 1n })
  const [spelled] = (await server.cli<string[]>('KEYS', '*price*')) as [string]
  expect(spelled).toBe('sluice:#cache/default/my%0020shop/price/a%002fb/#5')
  expect(await inspectEntry(handle, spelled.replace('sluice:', ''))).toMatchObject({
    ...{
      service: 'default',
      cache: 'my shop',
      name: 'price',
      parts: ['a/b', 5],
      state: 'fresh',
      tags: ['a b'],
      value: { usd: 1n },
    },
    sequence: 1,
  })
  await server.cli('SET', 'sluice:#cache/default/x/price/y', 'something else')
  expect(await inspectEntry(handle, 'sluice:#cache/default/x/price/y')).toMatchObject({ state: 'damaged', bytes: 14 })
  expect(await inspectEntry(handle, '#cache/default/x/price/none')).toMatchObject({ state: 'none', parts: ['none'] })
  await cache.close()
})
