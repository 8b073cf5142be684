import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openReports } from '../reports/redis-fleet.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, type CacheOptions, createCache, defineKeys, key, tag } from './index.ts'

const keys = defineKeys({
  price: key('price', ['assetId'], { ttl: '60s' }),
  swr: key('swr', ['id'], { ttl: '50ms', jitter: 0, staleWhileRevalidate: '10s', staleIfError: '20s' }),
  tagged: key('tagged', ['a', 'b'], { ttl: '60s', tags: (value: { owner: string }) => [value.owner] }),
})

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

/** Caches that Redis sees as separate processes: each with its own client. */
const caches = async (howMany: number, options: CacheOptions = {}): Promise<Cache[]> => {
  const namespace = `test ${namespaces++}`
  return Promise.all(
    Array.from({ length: howMany }, async () => {
      const client = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 1 })
      client.on('error', () => undefined)
      open.push({ close: () => client.disconnect() })
      const cache = await createCache({
        redis: openRedis(client, { reports: false }),
        name: namespace,
        redisDeadline: '1s',
        ...options,
      })
      open.push(cache)
      return cache
    }),
  )
}

test('what one process fetched another finds in Redis, with its age and types', async () => {
  const [a, b] = await caches(2)
  const value = { at: new Date(5), big: 10n, bytes: Buffer.from('x') }
  await a!.getOrFetch(keys.price('XLM'), () => value)
  await waitFor(async () => (await b!.get(keys.price('XLM'))) !== undefined)
  const [c] = [b!]
  const fetch = vi.fn(() => value)
  const answer = await c.lookup(keys.price('XLM'), fetch)
  expect(answer.value).toStrictEqual(value)
  expect(answer.stale).toBe(false)
  expect(answer.ageMs).toBeGreaterThan(0)
  expect(fetch).not.toHaveBeenCalled()
  expect(b!.stats().hits.redis).toBe(1)
})

test('callers of a cold key in several processes cause one fetch', async () => {
  const all = await caches(4)
  let fetches = 0
  let finish: (value: string) => void = () => undefined
  const fetch = () => {
    fetches += 1
    return new Promise<string>((resolve) => (finish = resolve))
  }
  const callers = all.flatMap((cache) => Array.from({ length: 250 }, () => cache.getOrFetch(keys.price('cold'), fetch)))
  // Every process has found nothing and learned that another one fetches, before there is a value.
  await waitFor(() => fetches === 1 && all.every((cache) => cache.stats().misses === 1))
  const asked = async () => Number((await server.info('stats')).total_commands_processed)
  const before = await asked()
  await waitFor(async () => (await asked()) > before + 20)
  finish('value')
  expect(new Set(await Promise.all(callers))).toEqual(new Set(['value']))
  expect(fetches).toBe(1)
})

test('a holder that hangs loses the key, and what it brings late is dropped', async () => {
  const [a, b] = await caches(2, { fetchDeadline: '300ms', fillLock: '200ms' })
  let finish: (value: string) => void = () => undefined
  const hanging = a!.getOrFetch(keys.price('hung'), () => new Promise<string>((resolve) => (finish = resolve)))
  hanging.catch(() => undefined)
  await waitFor(() => a!.stats().fetches === 1)
  expect(await b!.getOrFetch(keys.price('hung'), () => 'second')).toBe('second')
  await expect(hanging).rejects.toMatchObject({ code: 'SLUICE_TIMEOUT' })
  finish('late')
  // The second value is stored after its caller has it.
  const stored = await waitFor(() => a!.get<string>(keys.price('hung')))
  expect(stored?.value).toBe('second')
})

test('the fill lock of a process that died is replaced', async () => {
  const [a] = await caches(1, { fillLock: '300ms' })
  await server.cli(
    'SET',
    `{sluice:#cache/default/${encodeURIComponent(a!.name).replace('%20', '%0020')}/price/dead}!lock`,
    'gone',
    'PX',
    300,
  )
  expect(await a!.getOrFetch(keys.price('invalid'), () => 'mine')).toBe('mine')
})

test('an invalidation reaches the memory of other processes: by key, prefix and tag', async () => {
  // A strict invalidation takes as long as the proof.
  const [a, b] = await caches(2, { proof: '300ms' })
  const look = (cache: Cache, version: string) => cache.lookup(keys.tagged('x', '1'), () => ({ owner: 'o', version }))
  await look(a!, 'v1')
  await waitFor(async () => (await b!.get(keys.tagged('x', '1'))) !== undefined)
  let version = 1
  for (const target of [keys.tagged('x', '1'), keys.tagged.prefix('x'), keys.tagged.prefix(), tag('o')]) {
    version += 1
    await a!.invalidate(target, { mode: 'strict' })
    expect(await look(b!, `v${version}`)).toMatchObject({ value: { version: `v${version}` }, stale: false })
    await waitFor(
      async () => (await a!.get<{ version: string }>(keys.tagged('x', '1')))?.value.version === `v${version}`,
    )
  }
  expect(b!.stats().invalidations.received).toBeGreaterThanOrEqual(4)
})

test('a strict invalidation takes at most D and the deadline, and is rejected without Redis', async () => {
  const [a] = await caches(1, { proof: '200ms', redisDeadline: '100ms' })
  const strict = async (): Promise<number> => {
    const startMs = performance.now()
    await a!.invalidate(keys.price('x'), { mode: 'strict' })
    return performance.now() - startMs
  }
  // On a busy machine an answer may miss the deadline.
  expect(await waitFor(() => strict().catch(() => undefined))).toBeGreaterThanOrEqual(200)
  await server.freeze()
  try {
    await expect(a!.invalidate(keys.price('x'), { mode: 'strict' })).rejects.toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      transient: true,
    })
    expect(await a!.invalidate(keys.price('x'), { mode: 'fast' })).toEqual({ sent: false })
  } finally {
    server.thaw()
  }
  await waitFor(() => a!.stats().redis === 'up')
})

test('while Redis is frozen, memory is answered as stale and the rest comes from the source, within the deadline', async () => {
  const [a] = await caches(1, { proof: '200ms', redisDeadline: '100ms' })
  await a!.getOrFetch(keys.price('known'), () => 'cached')
  // Redis answers later than the value was made, so the value does not count as made during the outage. On a busy
  // machine an answer may miss the deadline.
  await waitFor(async () => {
    const { ageMs } = await a!.lookup(keys.price('known'), () => 'cached')
    return ageMs > 0 && (await a!.invalidate(keys.price('other'))).sent
  })
  await server.freeze()
  try {
    const fetch = vi.fn(async () => 'source')
    // Fresh until the proof ends, and stale from then on.
    const known = await waitFor(async () => {
      const answer = await a!.lookup(keys.price('known'), fetch)
      return answer.stale && answer
    })
    expect(known).toMatchObject({ value: 'cached', stale: true, from: 'memory' })
    // It is stale where the fetch took longer than a proof lasts.
    expect(await a!.lookup(keys.price('new'), fetch)).toMatchObject({ value: 'source', from: 'fetch' })
    await waitFor(() => a!.stats().redis === 'down')
    await a!.lookup(keys.price('known'), fetch)
    await waitFor(async () => (await a!.lookup(keys.price('known'), fetch)).value === 'source')
    const before = fetch.mock.calls.length
    for (let i = 0; i < 100; i++) await a!.lookup(keys.price('known'), fetch)
    expect(fetch.mock.calls.length).toBe(before)
  } finally {
    server.thaw()
  }
  await waitFor(() => a!.stats().redis === 'up')
  await waitFor(async () => !(await a!.lookup(keys.price('known'), () => 'again')).stale)
})

test('after a wipe, memory is only stale until it is fetched again, and the most used keys are warmed', async () => {
  const warmed: number[] = []
  const fetcher = vi.fn(async ([id]: readonly unknown[]) => `warm ${id}`)
  const [a] = await caches(1, { proof: '200ms', fetchers: { price: fetcher } })
  a!.on('warmed', (event) => warmed.push(event.warmed))
  for (const id of ['a', 'b', 'c']) await a!.getOrFetch(keys.price(id), () => 'cold')
  await server.cli('FLUSHALL')
  await waitFor(async () => {
    await a!.get(keys.price('a'))
    return warmed.length > 0
  })
  expect(warmed).toEqual([3])
  expect(await a!.get(keys.price('b'))).toMatchObject({ value: 'warm b', stale: false })
  expect(a!.stats().unproven).toBe(1)
})

test('a producer writes, and readers see it at once in Redis and within D in memory', async () => {
  const [producer, reader] = await caches(2)
  await reader!.getOrFetch(keys.price('XLM'), () => 1)
  for (let price = 2; price < 6; price++) {
    await producer!.set(keys.price('XLM'), price)
    await waitFor(async () => (await reader!.get(keys.price('XLM')))?.value === price)
  }
  expect(await producer!.get(keys.price('XLM'))).toMatchObject({ value: 5, from: 'memory' })
})

test('a producer wins over a fetch that began before it', async () => {
  const [producer, reader] = await caches(2)
  let finish: (value: number) => void = () => undefined
  const fetching = reader!.getOrFetch(keys.price('race'), () =>
    reader!.stats().fetches > 1 ? 3 : new Promise<number>((resolve) => (finish = resolve)),
  )
  await waitFor(() => reader!.stats().fetches === 1)
  await producer!.set(keys.price('race'), 2)
  finish(1)
  await fetching
  const client = await caches(1)
  expect(client).toHaveLength(1)
  await waitFor(async () => (await producer!.get(keys.price('race')))?.value !== 1)
})

test('getMany reads many keys in one round trip', async () => {
  const [a, b] = await caches(2, { proof: '60s' })
  const many = Array.from({ length: 100 }, (_, i) => keys.price(i))
  await Promise.all(many.map((each, i) => a!.set(each, i)))
  const before = Number((await server.info('stats')).total_commands_processed)
  const answers = await b!.getMany(many)
  expect(answers.map((answer) => answer?.value)).toEqual(many.map((_, i) => i))
  const after = Number((await server.info('stats')).total_commands_processed)
  // The script, TIME and MGET within it, INFO twice, and what keeps the proof.
  expect(after - before).toBeLessThan(20)
})

test('damaged, foreign and oversized values are counted misses', async () => {
  const [a] = await caches(1, { maxValueBytes: 1000 })
  const at = (id: string) => `sluice:#cache/default/${a!.name.replace(' ', '%0020')}/price/${id}`
  await server.cli('SET', at('short'), 'x')
  await server.cli('SET', at('foreign'), '{"usd":1}'.padEnd(40))
  await server.cli('SET', at('huge'), `0000000000000000${'x'.repeat(5000)}`)
  await server.cli('LPUSH', at('list'), 'x')
  await a!.getOrFetch(keys.price('whole'), () => ({ usd: 1 }))
  await waitFor(async () => (await server.cli('EXISTS', at('whole'))) === 1)
  const whole = await server.cli<string>('GET', at('whole'))
  await server.cli('SET', at('flipped'), whole.replace('"usd":1', '"usd":2'))
  for (const id of ['short', 'foreign', 'huge', 'list', 'flipped'])
    expect(await a!.getOrFetch(keys.price(id), () => 'fetched')).toBe('fetched')
  expect(a!.stats().skipped.damaged).toBe(4)
  expect(a!.stats().redis).toBe('up')
})

test('compresses large values, and reads those of others whatever their setting', async () => {
  const [a] = await caches(1, { compressBytes: 100 })
  const text = 'sluice '.repeat(1000)
  await a!.getOrFetch(keys.price('large'), () => text)
  const at = `sluice:#cache/default/${a!.name.replace(' ', '%0020')}/price/large`
  await waitFor(async () => (await server.cli('EXISTS', at)) === 1)
  expect(await server.cli('STRLEN', at)).toBeLessThan(500)
  await a!.invalidate(keys.swr('unrelated'))
  const client = new Redis(server.port)
  open.push({ close: () => client.disconnect() })
  const plain = await createCache({ redis: openRedis(client, { reports: false }), name: a!.name, redisDeadline: '1s' })
  open.push(plain)
  expect((await plain.get(keys.price('large')))?.value).toBe(text)
})

test('many renewals of a stale value in several processes are one fetch', async () => {
  const all = await caches(3)
  let fetches = 0
  const fetch = async () => {
    fetches += 1
    return fetches
  }
  for (const cache of all) await cache.getOrFetch(keys.swr('a'), fetch)
  const isStale = async (cache: Cache) => (await cache.get(keys.swr('a')))?.stale
  await waitFor(async () => (await Promise.all(all.map(isStale))).every((stale) => stale))
  const before = fetches
  // What is renewed stays fresh, however late a process notices.
  const renew = (cache: Cache) => cache.lookup(keys.swr('a'), fetch, { ttl: '60s' })
  const answers = await Promise.all(all.flatMap((cache) => [1, 2, 3].map(() => renew(cache))))
  expect(answers.every(({ stale }) => stale)).toBe(true)
  await waitFor(() => fetches > before && all.every((cache) => cache.stats().flights === 0))
  expect(fetches).toBe(before + 1)
})

test('health asks Redis, also when nothing else does', async () => {
  const own = await startRedis()
  const client = new Redis(own.port, '127.0.0.1', { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  await using cache = await createCache({ redis: openRedis(client, { reports: false }) })
  // Redis counts as away when it does not answer within half a second, which it may not on a busy machine.
  await expect.poll(() => cache.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  await own.kill()
  await waitFor(async () => !(await cache.health()).ready)
  expect((await cache.health()).reasons).toEqual(['Redis does not answer.'])
  await own.stop()
})

test('what Redis answered before an outage is not its health in the outage', async () => {
  const own = await startRedis()
  const client = new Redis(own.port, '127.0.0.1', { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  await using cache = await createCache({ redis: openRedis(client, { reports: false }) })
  await expect.poll(() => cache.health()).toMatchObject({ ready: true })
  await own.kill()
  await waitFor(async () => {
    await cache.get(keys.swr('a'))
    return cache.stats().redis === 'down'
  })
  expect((await cache.health()).reasons).toEqual(['Redis does not answer.'])
  await own.stop()
})

test('a cache appears in the reports of its process, under its name', async () => {
  const client = new Redis(server.port, '127.0.0.1')
  open.push({ close: () => client.disconnect() })
  const redis = openRedis(client, { service: 'shop' })
  open.push(await createCache({ redis, name: 'prices' }))
  const reports = openReports(redis)
  open.push(reports)
  const [found] = await waitFor(
    async () => {
      const read = await reports.read('shop', 1000)
      return read.length > 0 && read
    },
    { timeoutMs: 10_000 },
  )
  expect(found!.report.sections).toContainEqual(
    expect.objectContaining({ kind: 'cache', name: 'prices', stats: expect.objectContaining({ redis: 'up' }) }),
  )
})
