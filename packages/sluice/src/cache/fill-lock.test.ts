import { gzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, type CacheOptions, createCache, defineKeys, key } from './index.ts'

const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })

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
  const client = new Redis(server.port, '127.0.0.1')
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  return client
}

/** Caches that Redis sees as separate processes. The proof lasts, so that no call is made but those of lookups. */
const caches = async (...options: CacheOptions[]): Promise<Cache[]> => {
  const namespace = `fill${namespaces++}`
  return Promise.all(
    options.map(async (each) => {
      const cache = await createCache({
        redis: openRedis(connect(), { reports: false }),
        name: namespace,
        redisDeadline: '1s',
        proof: '60s',
        ...each,
      })
      open.push(cache)
      return cache
    }),
  )
}

/** A clock whose timers never fire, so that no timer can end a wait. */
const withoutTimers = (): Clock => ({ ...systemClock(), setTimeout: () => ({}), clearTimeout: () => undefined })

const scriptCalls = async (): Promise<number> => {
  const { cmdstat_evalsha: line = '' } = await server.info('commandstats')
  return Number(/calls=(\d+)/.exec(line)?.[1] ?? 0)
}

/** A fetch that the test ends. */
const heldFetch = () => {
  let finish: (value: string) => void = () => undefined
  const ended = new Promise<string>((resolve) => {
    finish = resolve
  })
  const fetch = (): Promise<string> => {
    held.calls += 1
    return ended
  }
  const held = { calls: 0, finish, fetch }
  return held
}

test('a miss costs one call of Redis before the fetch', async () => {
  const [cache] = await caches({})
  // The scripts are in Redis from now on.
  await cache!.getOrFetch(keys.price('first'), () => 1)
  await waitFor(async () => (await server.cli('EXISTS', `sluice:#cache/default/${cache!.name}/price/first`)) === 1)
  const before = await scriptCalls()
  const during = await cache!.getOrFetch(keys.price('second'), scriptCalls)
  expect(during - before).toBe(1)
})

test.each([
  ['gzip', gzipSync('a value of another writer')],
  ['UTF-8 text', Buffer.from('Größe: 5 — a text')],
])('foreign bytes under a key (%s) are a counted miss, and are replaced', async (_, bytes) => {
  const [cache, reader] = await caches({}, {})
  const client = connect()
  await client.set(`sluice:#cache/default/${cache!.name}/price/XLM`, bytes)
  const before = await scriptCalls()
  expect(await cache!.lookup(keys.price('XLM'), () => 'mine')).toMatchObject({ value: 'mine', from: 'fetch' })
  expect((await scriptCalls()) - before).toBeLessThan(8)
  expect(cache!.stats().skipped.damaged).toBe(1)
  await waitFor(async () => (await reader!.get(keys.price('XLM')))?.value === 'mine')
})

test('a process that waits for the fetch of another is woken by its end, not by a timer', async () => {
  const [holder, waiter] = await caches({}, { clock: withoutTimers() })
  const { fetch, finish } = heldFetch()
  const looking = [holder!.getOrFetch(keys.price('XLM'), fetch)]
  await waitFor(() => holder!.stats().fetches === 1)
  looking.push(waiter!.getOrFetch(keys.price('XLM'), () => 'mine'))
  await waitFor(() => waiter!.stats().misses === 1)
  await waiter!.get(keys.price('other'))
  finish('value')
  expect(await Promise.all(looking)).toEqual(['value', 'value'])
})

test('a process that waits takes over at once when the fetch of another fails', async () => {
  const [holder, waiter] = await caches({}, { clock: withoutTimers() })
  let fail: (error: Error) => void = () => undefined
  const failing = holder!.getOrFetch(keys.price('XLM'), () => new Promise((_, reject) => (fail = reject)))
  failing.catch(() => undefined)
  await waitFor(() => holder!.stats().fetches === 1)
  const looking = waiter!.getOrFetch(keys.price('XLM'), () => 'mine')
  await waitFor(() => waiter!.stats().misses === 1)
  await waiter!.get(keys.price('other'))
  fail(new Error('the database is away'))
  await expect(failing).rejects.toThrow('away')
  expect(await looking).toBe('mine')
})

test('processes that wait ask Redis seldom', async () => {
  const [holder, ...waiters] = await caches({}, {}, {})
  const { fetch, finish } = heldFetch()
  const ids = Array.from({ length: 30 }, (_, i) => keys.price(i))
  const looking = ids.map((id) => holder!.getOrFetch(id, fetch))
  await waitFor(() => holder!.stats().fetches === 30)
  for (const waiter of waiters) looking.push(...ids.map((id) => waiter.getOrFetch(id, () => 'mine')))
  await waitFor(() => waiters.every((waiter) => waiter.stats().misses === 30))
  const before = await scriptCalls()
  // About a second of waiting, by what another cache does meanwhile.
  await holder!.invalidate(keys.price('other'))
  const startMs = performance.now()
  await waitFor(() => performance.now() - startMs > 1000)
  // 60 waits that poll every 25 ms would be 2,400 calls.
  expect((await scriptCalls()) - before).toBeLessThan(500)
  finish('value')
  expect(new Set(await Promise.all(looking))).toEqual(new Set(['value']))
})

test('a Redis that is slow for a while does not end the wait for the fetch of another process', async () => {
  // The lock outlives the outage, however long a busy machine takes to freeze and thaw the server.
  const lasting = { fillLock: '25s' } as const
  const waiting = { ...lasting, redisDeadline: '100ms' } as const
  const [holder, ...waiters] = await caches(lasting, waiting, waiting)
  const { fetch, finish } = heldFetch()
  const other = heldFetch()
  const ids = Array.from({ length: 20 }, (_, i) => keys.price(i))
  const looking = ids.map((id) => holder!.getOrFetch(id, fetch))
  await waitFor(() => holder!.stats().fetches === 20)
  for (const waiter of waiters) looking.push(...ids.map((id) => waiter.getOrFetch(id, other.fetch)))
  await waitFor(() => waiters.every((waiter) => waiter.stats().misses === 20))
  await server.freeze()
  await waitFor(() => waiters.every((waiter) => waiter.stats().redis === 'down'))
  server.thaw()
  finish('value')
  expect(new Set(await Promise.all(looking))).toEqual(new Set(['value']))
  expect(other.calls).toBe(0)
})
