import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { type Cache, type CacheKey, type CacheOptions, createCache, defineKeys, key, tag } from './index.ts'

const keys = defineKeys({ row: key('row', ['id'], { ttl: '600s' }) })
const rows = (howMany: number): CacheKey[] => Array.from({ length: howMany }, (_, i) => keys.row(i))
const tags = (howMany: number, length = 20) =>
  Array.from({ length: howMany }, (_, i) => tag(String(i).padStart(length, 'x')))

/** Keeps the event loop from turning. */
function block(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}

let server: RedisServer
let namespaces = 0
const open: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
  await server.cli('FLUSHALL')
})

const caches = async (...options: CacheOptions[]): Promise<Cache[]> => {
  const name = `large${namespaces++}`
  const made: Cache[] = []
  for (const each of options) {
    const client = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 1 })
    client.on('error', () => undefined)
    open.push({ close: () => client.disconnect() })
    made.push(await createCache({ redis: openRedis(client, { reports: false }), name, ...each }))
    open.push(made.at(-1)!)
  }
  return made
}
/** None of this is about time. */
const patient = { redisDeadline: '30s' } as const
const logOf = (cache: Cache): string => `{sluice:#cache/default/${cache.name}/#log}`
const isFresh = async (cache: Cache): Promise<boolean> => {
  const answer = await cache.lookup(keys.row('own'), () => 1)
  return !answer.stale && answer.from === 'memory'
}

test('a process that starts while the log is full reads it in pages, and knows all of it', async () => {
  const [writer] = await caches(patient)
  await writer!.set(keys.row('old'), 'old', { tags: [String(0).padStart(190, 'x')] })
  await writer!.set(keys.row('good'), 'good', { tags: ['good'] })

  const invalidated = tags(50_000, 190)
  for (let i = 0; i < 50; i++) await writer!.invalidate(invalidated.slice(i * 1000, (i + 1) * 1000))
  const [reader] = await caches({ ...patient, name: writer!.name })
  await waitFor(() => isFresh(reader!))

  expect(await reader!.get(keys.row('old'))).toBeUndefined()
  expect(await reader!.get(keys.row('good'))).toMatchObject({ value: 'good', stale: false })
})

test('the log expires when nobody uses it, and forgets old invalidations while it is used', async () => {
  const [a, b] = await caches(patient, patient)
  const log = logOf(a!)
  await a!.set(keys.row('kept'), 1, { tags: ['t'] })
  await a!.invalidate([tag('t'), keys.row(1)])
  for (const each of [log, `${log}!keys`, `${log}!scopes`, `${log}!proofs`])
    expect(await server.cli<number>('PTTL', each), each).toBeGreaterThan(0)
  // Half of the time passes, twice.
  for (let i = 0; i < 2; i++) {
    await server.cli('HSET', log, 'halfUs', '1')
    await a!.invalidate(tag(`other${i}`))
  }
  expect(await server.cli('ZRANGE', `${log}!scopes`, '0', '-1')).toEqual(['t:other0', 't:other1'])
  expect(await b!.get(keys.row('kept'))).toBeUndefined()
  const [c] = await caches({ ...patient, name: a!.name })
  expect(await c!.get(keys.row('kept'))).toBeUndefined()
})

test('a log of another type is replaced', async () => {
  const [a] = await caches({})
  for (const suffix of ['', '!keys', '!scopes', '!proofs']) await server.cli('SET', logOf(a!) + suffix, 'poison')
  expect(await a!.invalidate(keys.row(1))).toEqual({ sent: true })
  await waitFor(() => isFresh(a!))
  expect(a!.stats().redis).toBe('up')
})

test('thousands of sets, invalidations and misses at once all reach Redis', async () => {
  const [a] = await caches({ redisDeadline: '60s', fillLock: '30s', maxFetches: 1e6, memory: { maxEntries: 50_000 } })
  await Promise.all(rows(10_000).map((row, i) => a!.set(row, i)))
  expect(await a!.invalidate(rows(20_000), { mode: 'strict' })).toEqual({ sent: true })
  expect(await a!.invalidate(tags(40_000))).toEqual({ sent: true })
  await Promise.all(rows(10_000).map((row, i) => a!.getOrFetch(row, () => i)))
  const stored = async (): Promise<number> => (await server.cli<string[]>('KEYS', `*${a!.name}/row/*`)).length
  await waitFor(async () => (await stored()) === 10_000)
  expect(a!.stats().redis).toBe('up')
})

test('a process that is late because of all its misses takes that for no failure of Redis, and stores them', {
  timeout: 120_000,
}, async () => {
  const patient = { queueDeadline: '60s', fillLock: '60s', fetchDeadline: '60s' } as const
  const [a] = await caches({ ...patient, memory: { maxEntries: 50_000 } })
  const states: string[] = []
  a!.on('redisChanged', ({ state }) => states.push(state))
  const answers = await Promise.all(rows(10_000).map((row, i) => a!.getOrFetch(row, () => i)))
  expect(answers).toEqual(Array.from({ length: 10_000 }, (_, i) => i))
  const stored = async (): Promise<number> => (await server.cli<string[]>('KEYS', `*${a!.name}/row/*`)).length
  await waitFor(async () => (await stored()) === 10_000)
  expect(states).toEqual([])
})

test('a Redis that is frozen counts as down also for a process that is late', async () => {
  const [a] = await caches({})
  await a!.getOrFetch(keys.row('before'), () => 0)
  await server.freeze()
  try {
    const states: string[] = []
    a!.on('redisChanged', ({ state }) => states.push(state))
    const answers = Promise.all(rows(10).map((row, i) => a!.getOrFetch(row, () => i)))
    setImmediate(() => setImmediate(() => block(300)))
    expect(await answers).toEqual(Array.from({ length: 10 }, (_, i) => i))
    expect(states).toEqual(['down'])
  } finally {
    server.thaw()
  }
})

test('setMany writes many values, and getOrFetchMany fetches what is missing together', async () => {
  const [a, b] = await caches(patient, patient)
  await a!.setMany(rows(500).map((row, i) => [row, `set ${i}`] as const))
  const asked: number[] = []
  const fetch = (missing: readonly CacheKey[]) => {
    asked.push(missing.length)
    return missing.map(({ parts }) => `fetched ${parts[0]}`)
  }
  const found = await b!.getOrFetchMany(rows(3000), fetch)
  expect(found).toEqual(rows(3000).map((_, i) => (i < 500 ? `set ${i}` : `fetched ${i}`)))
  expect(asked.reduce((sum, each) => sum + each, 0)).toBe(2500)
  expect(asked.length).toBeLessThan(100)
  expect(await b!.getOrFetchMany(rows(3000), fetch)).toEqual(found)
  expect(asked.reduce((sum, each) => sum + each, 0)).toBe(2500)
  await expect(b!.getOrFetchMany([keys.row('x')], () => [])).rejects.toThrow('one value for each')
})
