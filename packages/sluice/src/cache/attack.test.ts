import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, type CacheOptions, createCache, defineKeys, key } from './index.ts'

const keys = defineKeys({
  price: key('price', ['assetId', 'unit'], { ttl: '60s' }),
  swr: key('swr', ['id'], { ttl: '50ms', jitter: 0, staleWhileRevalidate: '60s' }),
})
const xlm = keys.price('XLM', 'usd')

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

const connect = (): Redis => {
  const client = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 1 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  return client
}

const caches = async (...options: CacheOptions[]): Promise<Cache[]> => {
  const namespace = `attack${namespaces++}`
  return Promise.all(
    options.map(async (each) => {
      const cache = await createCache({
        redis: openRedis(connect(), { reports: false }),
        name: namespace,
        redisDeadline: '1s',
        ...each,
      })
      open.push(cache)
      return cache
    }),
  )
}

/** A value that one process fetched, and that is in Redis. */
const stored = async (cache: Cache, value: string): Promise<void> => {
  await cache.getOrFetch(xlm, () => value)
  const at = `sluice:#cache/default/${cache.name}/price/XLM/usd`
  await waitFor(async () => (await server.cli('EXISTS', at)) === 1)
}

test('a copy that was on its way from Redis when an invalidation failed is not answered later', async () => {
  const [writer, reader] = await caches({}, { proof: '30s', redisDeadline: '400ms' })
  await stored(writer!, 'old')
  await server.freeze()
  const invalidating = reader!.invalidate(xlm)
  // The read has time left when the invalidation has none.
  await new Promise((resolve) => setTimeout(resolve, 200))
  const concurrent = reader!.lookup(xlm, () => 'new')
  expect(await invalidating).toEqual({ sent: false })
  server.thaw()
  await concurrent
  expect(await reader!.getOrFetch(xlm, () => 'new')).toBe('new')
})

test('until an invalidation that waited for Redis is sent, what Redis still has is not answered', async () => {
  const [writer, reader] = await caches({}, { redisDeadline: '200ms', proof: '30s' })
  const many = Array.from({ length: 40 }, (_, i) => keys.price('XLM', i))
  for (const each of many) await writer!.set(each, 'old')
  await reader!.get(keys.price('ADA', 'usd'))
  await server.freeze()
  expect(await reader!.invalidate(keys.price.prefix('XLM'))).toEqual({ sent: false })
  let answers: Promise<string[]> | undefined
  // Reads as soon as Redis may be asked again, with so many keys that the read is sent at once.
  reader!.on('redisChanged', ({ state }) => {
    if (state === 'up') answers ??= Promise.all(many.map((each) => reader!.getOrFetch(each, () => 'new')))
  })
  server.thaw()
  await waitFor(() => answers !== undefined)
  expect(new Set(await answers)).toEqual(new Set(['new']))
  await waitFor(() => reader!.stats().invalidations.sent === 1)
})

test('a stale copy in Redis is renewed by a process that keeps nothing in memory', async () => {
  const [cache] = await caches({ memory: false })
  let version = 0
  const fetch = () => ++version
  await cache!.getOrFetch(keys.swr('a'), fetch)
  await waitFor(async () => (await cache!.get(keys.swr('a')))?.stale)
  expect(await cache!.lookup(keys.swr('a'), fetch)).toMatchObject({ value: 1, stale: true, from: 'redis' })
  await waitFor(() => version === 2)
})

test('a cache that closes while Redis is read starts no more fetches', async () => {
  const [writer, reader] = await caches({}, { proof: '30s' })
  await stored(writer!, 'old')
  await server.freeze()
  const fetch = vi.fn(() => 'new')
  const looking = [reader!.getOrFetch(xlm, fetch), reader!.getOrFetch(keys.price('ADA', 'usd'), fetch)]
  const settled = Promise.allSettled(looking)
  const closing = reader!.close()
  server.thaw()
  await closing
  for (const each of await settled)
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'SLUICE_CLOSED' })
    else expect(each.value).toBe('old')
  expect(fetch).not.toHaveBeenCalled()
  expect(reader!.stats()).toMatchObject({ flights: 0, memory: { entries: 0 } })
})

test('closing ends fetches that ignore their signal, those in the queue, and all timers', async () => {
  const clock = virtualClock()
  const cache = await createCache({ clock, maxFetches: 2 })
  const fetch = vi.fn(() => new Promise(() => undefined))
  const looking = Promise.allSettled(['a', 'b', 'c', 'd'].map((id) => cache.getOrFetch(keys.price(id, 'usd'), fetch)))
  await waitFor(() => cache.stats().fetches === 2)
  await cache.close()
  for (const each of await looking) expect(each).toMatchObject({ reason: { code: 'SLUICE_CLOSED' } })
  expect(fetch).toHaveBeenCalledTimes(2)
  expect(cache.stats().flights).toBe(0)
  expect(clock.pending).toBe(0)
})

test('a process that closes releases the keys that it was fetching at once', async () => {
  const [closing, other] = await caches({ fillLock: '30s' }, { fillLock: '30s' })
  const hanging = closing!.getOrFetch(xlm, () => new Promise(() => undefined))
  hanging.catch(() => undefined)
  await waitFor(() => closing!.stats().fetches === 1)
  await closing!.close()
  expect(await other!.getOrFetch(xlm, () => 'mine')).toBe('mine')
})

test('a closed cache refuses to invalidate', async () => {
  const [cache] = await caches({})
  await cache!.close()
  await expect(cache!.invalidate(xlm)).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  await expect(cache!.set(xlm, 1)).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
})

test('a codec that throws costs its own key a fetch, not those that are read with it', async () => {
  const decode = (given: string): unknown => {
    if (given.includes('cursed') && decoding) throw new Error('cannot read this')
    return JSON.parse(given)
  }
  let decoding = false
  const codec = { encode: (value: unknown) => JSON.stringify(value), decode }
  const [writer, reader] = await caches({ codec }, { codec })
  const ids = ['a', 'cursed', 'b']
  for (const id of ids) await writer!.set(keys.price(id, 'usd'), { id })
  decoding = true
  const fetch = vi.fn((id: string) => ({ id: `fetched ${id.length}` }))
  const found = await Promise.all(ids.map((id) => reader!.getOrFetch(keys.price(id, 'usd'), () => fetch(id))))
  expect(found).toEqual([{ id: 'a' }, { id: 'fetched 6' }, { id: 'b' }])
  expect(fetch).toHaveBeenCalledTimes(1)
  expect(reader!.stats()).toMatchObject({ flights: 0, skipped: { damaged: 1 } })
})

test('what cannot be written is answered, and its key is free for others at once', async () => {
  const codec = {
    encode: () => {
      throw new Error('cannot write this')
    },
    decode: JSON.parse,
  }
  const [a, b] = await caches({ codec, fillLock: '30s' }, { fillLock: '30s' })
  expect(await a!.getOrFetch(xlm, () => 'bare')).toBe('bare')
  expect(await b!.getOrFetch(xlm, () => 'kept')).toBe('kept')
  expect(a!.stats()).toMatchObject({ flights: 0, skipped: { unencodable: 1 } })
})

test('caches that come and go leave no listener on the client, no fill lock and no subscription', async () => {
  const client = connect()
  await client.ping()
  const listeners = () => client.eventNames().map((name) => [name, client.listenerCount(name)])
  const before = listeners()
  const clients = async () => Number((await server.info('clients')).connected_clients)
  const connections = await clients()
  for (let i = 0; i < 20; i++) {
    const cache = await createCache({
      redis: openRedis(client, { reports: false }),
      name: `come and go ${i}`,
      redisDeadline: '1s',
    })
    await cache.getOrFetch(xlm, () => i)
    await cache.close()
  }
  expect(listeners()).toEqual(before)
  await waitFor(async () => (await clients()) <= connections)
  await waitFor(async () => (await server.cli<string[]>('KEYS', '*come*!lock')).length === 0)
  expect(await server.cli('PUBSUB', 'CHANNELS', '*come*')).toEqual([])
})
