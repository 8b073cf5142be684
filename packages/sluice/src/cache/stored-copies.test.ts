import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { startTcpProxy } from '../testing/tcp-proxy.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, type CacheOptions, createCache, defineKeys, key } from './index.ts'

const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s', jitter: 0 }) })

let server: RedisServer
let namespaces = 0
const open: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

const makeCache = async (name: string, options: CacheOptions = {}, port = server.port): Promise<Cache> => {
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 1 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  const redis = openRedis(client, { reports: false })
  const cache = await createCache({ redis, name, redisDeadline: '30s', ...options })
  open.push(cache)
  return cache
}

test.each([
  [
    'fetched',
    async (cache: Cache) => void (await cache.getOrFetch(keys.price('XLM'), () => ({ usd: 1 }), { tags: ['t'] })),
  ],
  ['set', (cache: Cache) => cache.set(keys.price('XLM'), { usd: 1 }, { tags: ['t'] })],
])('no damage of one character of a copy that was %s makes it fresh, or fresh for longer', async (_, write) => {
  const name = `copies${namespaces++}`
  const writer = await makeCache(name)
  await write(writer)
  const at = `sluice:#cache/default/${name}/price/XLM`
  await waitFor(async () => (await server.cli('EXISTS', at)) === 1)
  const whole = await server.cli<string>('GET', at)
  const reader = await makeCache(name, { memory: false })
  const lookUp = () => reader.lookup(keys.price('XLM'), () => 'fetched')
  expect(await lookUp()).toMatchObject({ value: { usd: 1 }, stale: false })
  for (let i = 0; i < whole.length; i++)
    for (const other of ['7', 'x', ' ']) {
      if (whole[i] === other) continue
      await server.cli('SET', at, whole.slice(0, i) + other + whole.slice(i + 1), 'PX', '60000')
      const answer = await reader.get(keys.price('XLM'))
      // A generation that nobody knows proves nothing.
      if (answer !== undefined) expect(answer, `${whole} with "${other}" at ${i}`).toMatchObject({ stale: true })
    }
})

test('the copy of another key is damage, as a reply that reached the wrong call would be', async () => {
  const name = `copies${namespaces++}`
  const cache = await makeCache(name, { compressBytes: 1000 })
  const reader = await makeCache(name, { memory: false })
  for (const text of ['short', 'long'.repeat(1000)]) {
    await cache.set(keys.price('XLM'), text)
    const at = `sluice:#cache/default/${name}/price/`
    await server.cli('COPY', `${at}XLM`, `${at}BTC`, 'REPLACE')
    expect((await reader.get(keys.price('XLM')))?.value).toBe(text)
    expect(await reader.get(keys.price('BTC'))).toBeUndefined()
  }
  expect(reader.stats().skipped.damaged).toBe(2)
})

test('tags count against the bounds of a value and of the memory', async () => {
  const cache = await createCache({ memory: { maxBytes: 1024 * 1024 }, maxValueBytes: 20_000 })
  open.push(cache)
  const tags = (id: number, howMany: number) => Array.from({ length: howMany }, (_, i) => `tag-${id}-${i}`)
  for (let i = 0; i < 200; i++) await cache.getOrFetch(keys.price(i), () => i, { tags: tags(i, 500) })
  expect(cache.stats().memory.evictions).toBeGreaterThan(100)
  expect(cache.stats().memory.bytes).toBeGreaterThan(900_000)
  expect(await cache.getOrFetch(keys.price('many'), () => 1, { tags: tags(0, 5000) })).toBe(1)
  expect(await cache.get(keys.price('many'))).toBeUndefined()
  expect(cache.stats().skipped.oversized).toBe(1)
})

test('a value that is too large is not written first', async () => {
  const cache = await createCache({ maxValueBytes: 1000 })
  open.push(cache)
  let shared: object = { leaf: 1 }
  for (let i = 0; i < 40; i++) shared = { left: shared, right: shared }
  const stringify = vi.spyOn(JSON, 'stringify')
  const large = [Array(5000).fill(1), new Map([[1, 'x'.repeat(2000)]]), [1n, Buffer.alloc(2000)], shared]
  for (const [i, value] of large.entries()) expect(await cache.getOrFetch(keys.price(i), () => value)).toBe(value)
  expect(stringify).not.toHaveBeenCalled()
  stringify.mockRestore()
  expect(cache.stats().skipped.oversized).toBe(4)
})

test('a strict invalidation waits for the longest proof of all processes', async () => {
  const name = `copies${namespaces++}`
  const proxy = await startTcpProxy({ targetPort: server.port })
  open.push(proxy)
  const writer = await makeCache(name, { proof: '50ms' })
  const reader = await makeCache(name, { proof: '2s', redisDeadline: '100ms' }, proxy.port)
  await writer.set(keys.price('XLM'), 'old')
  await expect.poll(() => reader.get(keys.price('XLM'))).toMatchObject({ value: 'old', stale: false })
  proxy.stall(true)
  await writer.invalidate(keys.price('XLM'), { mode: 'strict' })
  expect((await reader.lookup(keys.price('XLM'), () => 'fetched')).stale).toBe(true)
})
