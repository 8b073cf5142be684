import { Cluster } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { startCluster } from '../testing/servers/cluster.ts'
import { type VirtualClock, virtualClock } from '../testing/virtual-clock.ts'
import { type Cache, createCache, defineKeys, key } from './index.ts'
import { resolveOptions } from './options.ts'
import { HeldLink } from './simulation/held-link.ts'
import { TwoLevelCache } from './two-level-cache.ts'

const keys = defineKeys({
  price: key('price', ['assetId'], { ttl: '60s' }),
  brief: key('brief', ['id'], { ttl: '1s', jitter: 0, staleWhileRevalidate: '60s' }),
})
const xlm = keys.price('XLM')
const open: TwoLevelCache[] = []
afterEach(() => Promise.all(open.splice(0).map((each) => each.close())))

/** What users see as well. */
const makeCache = (clock: VirtualClock, link: HeldLink): TwoLevelCache & Cache =>
  new TwoLevelCache(resolveOptions({ clock }), link)

/** A cache over a Redis whose replies the test holds back. */
const heldCache = async () => {
  const clock = virtualClock()
  const link = new HeldLink(() => clock.now())
  const cache = makeCache(clock, link)
  open.push(cache)
  await cache.ready()
  return { cache, link, clock }
}

test('a copy that was read before something newer was fetched does not replace it in memory', async () => {
  const { cache, link, clock } = await heldCache()
  await cache.getOrFetch(keys.brief('a'), () => 'old')
  await clock.advance('1500ms')
  const other = makeCache(clock, link)
  open.push(other)
  link.holds = 'reads'
  // The entry in memory is past its TTL, so Redis is read.
  const [one, many] = [cache.get(keys.brief('a')), cache.getMany([keys.brief('a'), xlm])]
  expect(await cache.getOrFetch(keys.brief('a'), () => 'new')).toBe('old')
  await clock.advance(1)
  expect(await cache.lookup(keys.brief('a'), () => 'newer')).toMatchObject({ value: 'new', stale: false })
  link.letGo()
  expect(await one).toMatchObject({ value: 'new', stale: false, from: 'memory' })
  expect((await many)[0]).toMatchObject({ value: 'new', stale: false, from: 'memory' })
  expect(await cache.getOrFetch(keys.brief('a'), () => 'newer')).toBe('new')
})

test.each(['strict', 'fast'] as const)(
  'an invalidation (%s) that Redis did not confirm covers the reads that are under way',
  async (mode) => {
    const { cache, link } = await heldCache()
    const reader = makeCache(virtualClock(), link)
    open.push(reader)
    await cache.set(xlm, 'old')
    await reader.ready()
    link.holds = 'reads'
    const reading = reader.getMany([xlm])
    // Redis is read once the reader has its proof.
    await new Promise((resolve) => setImmediate(resolve))
    link.fails = true
    const invalidating = reader.invalidate(xlm, { mode })
    if (mode === 'strict') await expect(invalidating).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' })
    else expect(await invalidating).toEqual({ sent: false })
    link.letGo()
    expect(await reading).toEqual([undefined])
    expect(await reader.getOrFetch(xlm, () => 'new')).toBe('new')
  },
)

test('a strict invalidation that was rejected is sent when Redis answers again, and covers all reads until then', async () => {
  const { cache, link, clock } = await heldCache()
  await cache.set(xlm, 'old')
  link.fails = true
  await expect(cache.invalidate(xlm, { mode: 'strict' })).rejects.toThrow('did not confirm')
  link.fails = false
  expect(link.values.has(xlm.encoded)).toBe(true)
  expect(await cache.get(xlm)).toBeUndefined()
  await clock.advance('5s')
  expect(link.values.has(xlm.encoded)).toBe(false)
  expect(cache.stats().invalidations).toMatchObject({ queued: 1, sent: 2 })
})

test('a set after a rejected invalidation replaces it: what was set is not invalidated later', async () => {
  const { cache, link, clock } = await heldCache()
  link.fails = true
  await cache.invalidate(xlm)
  link.fails = false
  await cache.set(xlm, 'set')
  await clock.advance('5s')
  expect(await cache.get(xlm)).toMatchObject({ value: 'set', stale: false })
})

test('what was set while an invalidation of it was rejected is not kept', async () => {
  const { cache, link } = await heldCache()
  link.holds = 'sets'
  const setting = cache.set(xlm, 'old')
  link.fails = true
  await cache.invalidate(xlm)
  link.letGo()
  await setting
  expect(await cache.get(xlm)).toBeUndefined()
})

test('wrong options are refused on a hit as on a miss', async () => {
  const cache = await createCache()
  const right = { ttl: '5s' } as const
  for (let i = 0; i < 3; i++) {
    expect(await cache.getOrFetch(xlm, () => 1, right)).toBe(1)
    await expect(cache.getOrFetch(xlm, () => 1, { tll: '5s' } as never)).rejects.toThrow('ttl')
    await expect(cache.lookup(xlm, () => 1, { ttl: 'soon' as never })).rejects.toThrow('ttl')
    await expect(cache.getOrFetch(xlm, 1 as never)).rejects.toThrow('fetch')
  }
  await cache.close()
})

test('on Cluster, sets and invalidations of a key at once leave the last set for all to read', {
  timeout: 60_000,
}, async () => {
  const cluster = await startCluster()
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const redis = new Cluster(nodes)
  const options = { redis: openRedis(redis, { reports: false }), name: 'sets', redisDeadline: '5s' } as const
  const [producer, other] = await Promise.all([createCache(options), createCache(options)])
  try {
    for (let i = 0; i < 100; i++) {
      const asset = keys.price(i % 5)
      const setting = producer!.set(asset, i)
      await Promise.all([setting, other!.invalidate(asset), other!.getOrFetch(asset, () => -1)])
      await producer!.set(asset, i + 1000)
      expect(await producer!.get(asset)).toMatchObject({ value: i + 1000, stale: false })
      await other!.invalidate(keys.price('another'))
      await expect.poll(async () => (await other!.get(asset))?.value).toBe(i + 1000)
    }
  } finally {
    await Promise.all([producer!.close(), other!.close()])
    redis.disconnect()
    await cluster.stop()
  }
})
