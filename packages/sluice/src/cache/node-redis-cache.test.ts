import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, type CacheOptions, createCache, defineKeys, key, tag } from './index.ts'

const keys = defineKeys({
  price: key('price', ['assetId'], { ttl: '60s' }),
  row: key('row', ['table', 'id'], { ttl: '60s', tags: (row: { owner: string }) => [row.owner] }),
})

let server: RedisServer
let namespaces = 0
const open: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  server.thaw()
  for (const each of open.splice(0).reverse()) await each.close()
})

const caches = (howMany: number, options: CacheOptions = {}): Promise<Cache[]> => {
  const namespace = `node-redis ${namespaces++}`
  return Promise.all(
    Array.from({ length: howMany }, async () => {
      const client = createClient({ url: server.url })
      client.on('error', () => undefined)
      await client.connect()
      open.push({ close: () => client.destroy() })
      const cache = await createCache({
        redis: openRedis(client as never, { reports: false }),
        name: namespace,
        redisDeadline: '1s',
        ...options,
      })
      open.push(cache)
      return cache
    }),
  )
}

test('what one process fetched another finds in Redis, byte for byte', async () => {
  const [a, b] = await caches(2)
  const value = { at: new Date(5), big: 10n, bytes: Buffer.from([0, 255, 128]), text: 'grüße 価格 🚰' }
  await a!.getOrFetch(keys.price('XLM'), () => value)
  const found = await waitFor(() => b!.get(keys.price('XLM')))
  expect(found).toMatchObject({ stale: false, from: 'redis' })
  expect(found.value).toStrictEqual(value)
  const many = Array.from({ length: 100 }, (_, i) => keys.price(i))
  await Promise.all(many.map((each, i) => a!.set(each, i)))
  expect((await b!.getMany(many)).map((answer) => answer?.value)).toEqual(many.map((_, i) => i))
})

test('callers of a cold key in several processes cause one fetch', async () => {
  const all = await caches(3)
  let finish: (value: string) => void = () => undefined
  const fetch = vi.fn(() => new Promise<string>((resolve) => (finish = resolve)))
  const callers = all.flatMap((cache) => Array.from({ length: 100 }, () => cache.getOrFetch(keys.price('cold'), fetch)))
  await waitFor(() => fetch.mock.calls.length > 0 && all.every((cache) => cache.stats().misses === 1))
  finish('value')
  expect(new Set(await Promise.all(callers))).toEqual(new Set(['value']))
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('an invalidation is received by the other process and removes what its memory holds', async () => {
  const [a, b] = await caches(2, { proof: '500ms' })
  const at = keys.row('users', '1')
  const look = (cache: Cache, version: number) => cache.lookup(at, () => ({ owner: 'ann', version }))
  await look(a!, 1)
  await waitFor(async () => (await b!.get(at))?.stale === false)
  let version = 1
  for (const target of [at, keys.row.prefix('users'), tag('ann')]) {
    version += 1
    const received = b!.stats().invalidations.received
    await a!.invalidate(target)
    await waitFor(() => b!.stats().invalidations.received > received)
    expect(await look(b!, version)).toMatchObject({ value: { version }, stale: false })
    await waitFor(async () => (await a!.get<{ version: number }>(at))?.value.version === version)
  }
})

test('without Redis memory is answered as stale and the rest from the source; afterwards all is fresh again', async () => {
  const [a] = await caches(1, { proof: '200ms', redisDeadline: '100ms' })
  await a!.getOrFetch(keys.price('known'), () => 'cached')
  await server.freeze()
  const fetch = vi.fn(async () => 'source')
  const known = await waitFor(async () => {
    const answer = await a!.lookup(keys.price('known'), fetch)
    return answer.stale && answer
  })
  expect(known).toMatchObject({ from: 'memory', stale: true })
  expect(await a!.lookup(keys.price('new'), fetch)).toMatchObject({ value: 'source', from: 'fetch' })
  await expect(a!.invalidate(keys.price('known'), { mode: 'strict' })).rejects.toMatchObject({
    code: 'SLUICE_STORE_FAILED',
  })
  expect(await a!.invalidate(keys.price('known'))).toEqual({ sent: false })
  server.thaw()
  await waitFor(() => a!.stats().redis === 'up' && a!.stats().invalidations.sent === 1)
  await waitFor(async () => !(await a!.lookup(keys.price('known'), () => 'again')).stale)
})

test('a server that restarts empty is noticed, and messages arrive again', async () => {
  const [a, b] = await caches(2, { proof: '200ms' })
  await a!.getOrFetch(keys.price('x'), () => 1)
  await server.restart()
  await waitFor(async () => {
    await Promise.all([a!, b!].map((cache) => cache.get(keys.price('x'))))
    return a!.stats().unproven > 0 && b!.stats().unproven > 0
  })
  const { received } = b!.stats().invalidations
  await waitFor(async () => {
    await a!.invalidate(keys.price('x'))
    return b!.stats().invalidations.received > received
  })
  expect(await b!.lookup(keys.price('x'), () => 2)).toMatchObject({ value: 2, stale: false })
})
