import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createBreaker } from '../../breaker/create-breaker.ts'
import { createCache } from '../../cache/create-cache.ts'
import { createCapacity } from '../../capacity/create-capacity.ts'
import { createIngest } from '../../capacity/ingest/create-ingest.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { openReports } from '../../reports/redis-fleet.ts'
import { createShipper } from '../../shipper/create-shipper.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { modelFiles } from '../../testing/shipper/model-files.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { openRedis } from './open-redis.ts'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ port: server.port, lazyConnect: true })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const policy = { service: 'shop', rules: [{ name: 'r', limits: { rpm: 100 } }] }
const keys = async (pattern: string): Promise<string[]> => ((await server.cli('KEYS', pattern)) as string[]).sort()

describe('a Redis handle', () => {
  test('is what every part takes: a client is refused with the line to write', async () => {
    const wrong = { redis: client } as never
    await expect(createLimiter({ limits: { rpm: 1 }, ...(wrong as object) })).rejects.toThrow(
      /createLimiter\.redis is .*; pass a handle: openRedis\(client\), with openRedis from 'sluice\/redis'/,
    )
    await expect(createCache(wrong)).rejects.toThrow(/createCache\.redis is .*pass a handle/)
    expect(() => openRedis({} as never)).toThrow(/pass a client of ioredis/)
    const own = new Redis({ lazyConnect: true })
    expect(() => openRedis(own.multi() as never)).toThrow(/pass the client that it was made of/)
    own.disconnect()
    expect(() => openRedis(client, { servce: 'shop' } as never)).toThrow(/did you mean "service"/)
    expect(() => openRedis(client, { socketTimeout: 0 })).toThrow(/openRedis\.socketTimeout is 0/)
  })

  test('keeps the state of services and prefixes apart, for every part', async () => {
    const redis = openRedis(client, { service: 'a', prefix: 'x:', reports: false })
    const limiter = await createLimiter({ limits: { rpm: 100 }, redis })
    const cache = await createCache({ redis, redisDeadline: '5s' })
    await limiter.take('k')
    await cache.set({ text: 'price/XLM', name: 'price', parts: ['XLM'] } as never, 1, { ttl: '1m' }).catch(() => {})
    expect((await keys('*')).filter((key) => !/[:{]?x:/.test(key))).toEqual([])
    expect((await keys('x:a/default/*')).length).toBe(1)
    await limiter.close()
    await cache.close()
    await redis.close()
  })

  test('reports its parts by itself, until they are closed', async () => {
    const redis = openRedis(client)
    const limiter = await createLimiter({ policy, redis })
    await limiter.take('k')
    const reports = openReports(redis)
    await waitFor(async () => (await reports.read('shop', 1000)).length === 1)
    const [found] = await reports.read('shop', 1000)
    expect(found!.report.sections.map(({ kind }) => kind)).toContain('limiter')
    await limiter.close()
    expect(await reports.read('shop', 1000)).toEqual([])
    await reports.close()
    await redis.close()
  })

  test('counts decisions from the start where they are reported, and else only once somebody looks', async () => {
    const counted = async (reports: boolean): Promise<number> => {
      const redis = openRedis(client, { reports })
      const limiter = await createLimiter({ policy, redis })
      await limiter.take(`counted ${reports}`)
      const { decisions } = limiter.stats()
      await limiter.close()
      await redis.close()
      return decisions.allowed
    }
    expect(await counted(true)).toBe(1)
    expect(await counted(false)).toBe(0)
  })

  test('reports the parts of the process that need no Redis beside those that do', async () => {
    const redis = openRedis(client, { service: 'collector' })
    const ingest = await createIngest({ accept: () => {}, redis })
    const breaker = createBreaker({ name: 'model' })
    const capacity = await createCapacity({ process: false })
    const dir = '/var/buffer'
    const shipper = await createShipper({ dir, fs: modelFiles(), send: async () => undefined, flushInterval: false })
    const reports = openReports(redis)
    const sections = await waitFor(async () => (await reports.read('collector', 1000))[0]?.report.sections)
    const named = ['ingest default', 'breaker model', 'capacity default', 'shipper buffer']
    expect(sections.map(({ kind, name }) => `${kind} ${name}`.trim())).toEqual(expect.arrayContaining(named))
    await Promise.all([shipper.close(), capacity.close(), breaker.close(), ingest.close()])
    await reports.close()
    await redis.close()
  })

  test('tells limiters from `limits` apart by their names, and refuses other limits under the same name', async () => {
    const redis = openRedis(client, { service: 'names', reports: false })
    const all = await createLimiter({ limits: { rpm: 100 }, redis })
    const replica = await createLimiter({ limits: { rpm: 100 }, redis })
    const login = await createLimiter({ limits: { rpm: 1 }, name: 'login', redis })
    for (let i = 0; i < 3; i++) await all.take('k')
    expect((await replica.peek('k')).limits[0]!.remaining).toBe(97)
    expect((await login.take('k')).allowed).toBe(true)
    await expect(createLimiter({ limits: { rpm: 5 }, redis })).rejects.toThrow(
      'createLimiter.name is "default"; another limiter has other limits under this name; give it its own',
    )
    for (const each of [all, replica, login]) await each.close()
    await (await createLimiter({ limits: { rpm: 5 }, redis })).close()
    await redis.close()
  })

  test('that is closed before its parts lets them go on, and nothing new begin', async () => {
    const redis = openRedis(client, { reports: false })
    const limiter = await createLimiter({ policy, redis })
    await redis.close()
    expect(await limiter.take('early')).toMatchObject({ allowed: true, degraded: false })
    await limiter.close()
    await waitFor(async () => Number((await server.info('clients')).connected_clients) === 1)
  })

  test('counts what it reports from the start', async () => {
    const redis = openRedis(client)
    const limiter = await createLimiter({ limits: { rpm: 1000 }, name: 'counted', redis })
    for (let i = 0; i < 5; i++) await limiter.take('bob')
    expect(limiter.stats().decisions).toEqual({ allowed: 5, denied: 0, degraded: 0 })
    await expect(limiter.close({ within: '5x' })).rejects.toThrow('limiter.close within')
    await limiter.close()
    await redis.close()
  })

  test('lets a process end without being closed itself, once its parts are', async () => {
    const redis = openRedis(client)
    const limiter = await createLimiter({ policy, redis })
    await limiter.take('k')
    await limiter.close()
    await waitFor(async () => Number((await server.info('clients')).connected_clients) === 1)
    // And can be used again.
    const again = await createLimiter({ policy, redis })
    expect((await again.take('k')).degraded).toBe(false)
    await again.close()
    await redis.close()
    await expect(createLimiter({ policy, redis })).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  })
})
