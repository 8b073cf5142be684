import { Redis } from 'ioredis'
import { afterEach, expect, test, vi } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { startRedis } from '../testing/servers/redis.ts'
import { type VirtualClock, virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import {
  type Cache,
  type CacheOptions,
  createCache,
  defineKeys,
  everything,
  type FetchContext,
  key,
  tag,
} from './index.ts'

const keys = defineKeys({
  page: key('page', ['id'], { ttl: '1s', jitter: 0, staleIfError: '10m' }),
  row: key('row', ['id'], { ttl: '60s', tags: ['rows'] }),
})
const page = keys.page('a')
const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

const makeCache = async (options: CacheOptions = {}): Promise<{ cache: Cache; clock: VirtualClock }> => {
  const clock = virtualClock()
  const cache = await createCache({ clock, ...options })
  open.push(cache)
  return { cache, clock }
}
const down = () => Promise.reject(new Error('the source is down'))
const never = () => new Promise<never>(() => undefined)

test('a source that fails is asked ever less often while a stale value is returned', async () => {
  const { cache, clock } = await makeCache()
  await cache.getOrFetch(page, () => 'old')
  const fetch = vi.fn(down)
  await clock.advance('2s')
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 20; i++) expect(await cache.lookup(page, fetch)).toMatchObject({ value: 'old', stale: true })
    await clock.advance('1s')
  }
  expect(fetch.mock.calls.length).toBeGreaterThan(3)
  expect(fetch.mock.calls.length).toBeLessThan(10)
  await clock.advance('1m')
  expect(await cache.getOrFetch(page, () => 'new')).toBe('new')
})

test('after the soft deadline the stale value is returned, and what the fetch brings is kept', async () => {
  const { cache, clock } = await makeCache({ softDeadline: '100ms' })
  await cache.getOrFetch(page, () => 'old')
  await clock.advance('2s')
  let finish: (value: string) => void = () => undefined
  const fetch = vi.fn(() => new Promise<string>((resolve) => (finish = resolve)))
  const first = cache.lookup(page, fetch)
  await clock.advance('100ms')
  expect(await first).toMatchObject({ value: 'old', stale: true })
  expect(await cache.lookup(page, fetch)).toMatchObject({ value: 'old', stale: true })
  finish('new')
  await clock.advance(1)
  expect(await cache.lookup(page, fetch)).toMatchObject({ value: 'new', stale: false })
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('what is invalidated while it is fetched again is not returned as stale when the fetch fails', async () => {
  const { cache, clock } = await makeCache()
  await cache.getOrFetch(page, () => 'old')
  await clock.advance('2s')
  let fail: (error: Error) => void = () => undefined
  const looking = cache.lookup(page, () => new Promise((_, reject) => (fail = reject)))
  const refused = expect(looking).rejects.toThrow('the source is down')
  await cache.invalidate(page)
  fail(new Error('the source is down'))
  await refused
})

test('what is invalidated while it is fetched again is not returned as stale after the soft deadline', async () => {
  const { cache, clock } = await makeCache({ softDeadline: '100ms' })
  await cache.getOrFetch(page, () => 'old')
  await clock.advance('2s')
  let finish: (value: string) => void = () => undefined
  const fetches = ['late', 'new'].map((value) => () => new Promise((resolve) => (finish = () => resolve(value))))
  const looking = cache.lookup(page, () => fetches.shift()!())
  await cache.invalidate(page)
  await clock.advance('100ms')
  finish('late')
  await waitFor(() => fetches.length === 0)
  finish('new')
  expect(await looking).toMatchObject({ value: 'new', stale: false })
})

test('the deadline of a fetch may be that of its key or call', async () => {
  const { cache, clock } = await makeCache()
  const looking = cache.getOrFetch(keys.page('slow'), never, { fetchDeadline: '50ms' })
  const refused = expect(looking).rejects.toMatchObject({ code: 'SLUICE_TIMEOUT' })
  await clock.advance('50ms')
  await refused
})

test('a fetch that looks up its own key, directly or through another, is told so', async () => {
  const { cache } = await makeCache()
  const own = cache.getOrFetch(page, () => cache.getOrFetch(page, () => 1))
  await expect(own).rejects.toMatchObject({ code: 'SLUICE_WRONG_USE', message: expect.stringContaining('page/a') })
  const [a, b] = [keys.row('a'), keys.row('b')]
  const round = cache.getOrFetch(a, () => cache.getOrFetch(b, () => cache.getOrFetch(a, () => 1)))
  await expect(round).rejects.toMatchObject({ code: 'SLUICE_WRONG_USE' })
  // Two flights that wait for each other.
  const crossed = await Promise.allSettled([
    cache.getOrFetch(a, () => cache.getOrFetch(b, () => cache.getOrFetch(a, () => 1))),
    cache.getOrFetch(b, () => cache.getOrFetch(a, () => 1)),
  ])
  expect(crossed.every(({ status }) => status === 'rejected')).toBe(true)
  expect(await cache.getOrFetch(page, () => cache.getOrFetch(a, () => 'child'))).toBe('child')
})

test('parents and children of one name share the places of concurrent fetches', async () => {
  const { cache } = await makeCache({ maxFetches: 4 })
  const found = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      cache.getOrFetch(keys.row(`parent${i}`), async () => {
        const children = ['x', 'y'].map((each) => cache.getOrFetch(keys.row(`child${i}${each}`), async () => i))
        return (await Promise.all(children)).reduce((sum, each) => sum + each)
      }),
    ),
  )
  expect(found).toEqual(Array.from({ length: 40 }, (_, i) => 2 * i))
})

test('a fetch that sets its own key runs once, and what it set is returned', async () => {
  const { cache } = await makeCache()
  const fetch = vi.fn(async () => {
    await cache.set(page, 'set')
    return 'returned'
  })
  expect(await cache.getOrFetch(page, fetch)).toBe('set')
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('a plain text is a key like others, apart from those that are defined', async () => {
  const { cache } = await makeCache()
  const fetch = vi.fn(() => 'ann')
  for (let i = 0; i < 2; i++) expect(await cache.getOrFetch('user:42', fetch, { ttl: '60s' })).toBe('ann')
  expect(fetch).toHaveBeenCalledTimes(1)
  await cache.set('user:43', 'bob', { ttl: '60s' })
  expect((await cache.getMany(['user:42', 'user:43', 'a/b'])).map((each) => each?.value)).toEqual([
    'ann',
    'bob',
    undefined,
  ])
  await cache.invalidate('user:42')
  expect(await cache.get('user:42')).toBeUndefined()
  await cache.invalidate(everything)
  expect(await cache.get('user:43')).toBeUndefined()
  await expect(cache.getOrFetch('user:44', fetch)).rejects.toThrow('say how long a value is fresh')
})

test('a fetch can refresh by the tag of the stale value, and decide that its value is not kept', async () => {
  const { cache, clock } = await makeCache()
  const stale: FetchContext['stale'][] = []
  const fetch = (context: FetchContext) => {
    stale.push(context.stale)
    context.etag = 'W/"1 ü"'
    return context.stale?.value ?? { body: 'large' }
  }
  await cache.getOrFetch(page, fetch)
  await clock.advance('2s')
  expect(await cache.lookup(page, fetch)).toMatchObject({ value: { body: 'large' }, stale: false })
  expect(stale).toEqual([undefined, { value: { body: 'large' }, etag: 'W/"1 ü"', ageMs: 2000 }])
  const skipped = vi.fn((context: FetchContext) => context.skip())
  for (let i = 0; i < 2; i++) await cache.getOrFetch(keys.row('skipped'), skipped)
  expect(skipped).toHaveBeenCalledTimes(2)
})

test('what is expired is fetched again in all processes, and returned as stale where that fails', {
  timeout: 30_000,
}, async () => {
  const server = await startRedis()
  open.push({ close: () => server.stop() })
  const caches: Cache[] = []
  for (let i = 0; i < 3; i++) {
    const client = new Redis(server.port)
    open.push({ close: () => client.disconnect() })
    caches.push(await createCache({ redis: openRedis(client, { reports: false }), redisDeadline: '2s', proof: '50ms' }))
    open.push(caches.at(-1)!)
  }
  const [a, b, c] = caches as [Cache, Cache, Cache]
  const row = keys.row(1)
  await a.set(row, 'old')
  expect(await b.getOrFetch(row, down)).toBe('old')
  for (const target of [row, keys.row.prefix(), tag('rows')]) {
    await a.expire(target, { mode: 'strict' })
    for (const each of [b, c]) expect(await each.lookup(row, down)).toMatchObject({ value: 'old', stale: true })
  }
  const [d] = [a]
  expect(await d.lookup(row, () => 'new')).toMatchObject({ value: 'new', stale: false })
  await waitFor(async () => (await c.get(row))?.value === 'new')
  expect(await c.lookup(row, down)).toMatchObject({ value: 'new', stale: false })
  // Forced: stored for the others too.
  expect(await c.lookup(row, () => 'newest', { forceFresh: true })).toMatchObject({ value: 'newest', from: 'fetch' })
  await waitFor(async () =>
    (await server.cli<string>('GET', 'sluice:#cache/default/default/row/#1')).includes('newest'),
  )
})
