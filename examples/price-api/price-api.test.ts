import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { type PostgresServer, type RedisServer, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { priceApi } from './src/app.ts'
import { Database } from './src/database.ts'
import { keys } from './src/keys.ts'
import { produce } from './src/producer.ts'
import { type Services, startServices } from './src/services.ts'

const policy = {
  service: 'price-api',
  rules: [
    {
      name: 'api-key',
      match: { path: '/v1/*' },
      key: 'headers.x-api-key | hash',
      limits: { amount: 5000, per: '1m', name: 'minute' },
      onStoreFailure: 'local',
    },
    {
      name: 'strict',
      match: { path: '/v1/vwap' },
      key: 'headers.x-api-key | hash',
      limits: { amount: 3, per: '1m', name: 'few' },
      onStoreFailure: 'local',
    },
  ],
} as const

let redisServer: RedisServer
let postgres: PostgresServer
let redis: Redis
let pool: Pool
let database: Database
/** Two processes from the point of view of Redis and the database. */
let services: Services[]
let servers: Server[]
let urls: string[]
let assets = 0
let asset = ''

beforeAll(async () => {
  ;[redisServer, postgres] = await Promise.all([startRedis(), startPostgres()])
  pool = new Pool({ connectionString: postgres.url, max: 5, connectionTimeoutMillis: 2000 })
  pool.on('error', () => undefined)
  database = new Database(pool)
  await database.prepare()
  const start = async (): Promise<Services> => {
    redis = new Redis(redisServer.port, { retryStrategy: () => 50, maxRetriesPerRequest: 1 })
    redis.on('error', () => undefined)
    clients.push(redis)
    return startServices({ redis, database, policy, cache: { redisDeadline: '250ms' } })
  }
  services = [await start(), await start()]
  servers = services.map((each) => priceApi(each).listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
const clients: Redis[] = []

afterAll(async () => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
  await Promise.all(services.map((each) => each.close()))
  for (const client of clients) client.disconnect()
  await pool.end()
  await Promise.all([redisServer.stop(), postgres.stop()])
})

beforeEach(() => {
  asset = `A${assets++}`
})

const get = async (path: string, { at = 0, headers = {} as Record<string, string> } = {}) => {
  const response = await fetch(`${urls[at]}${path}`, { headers: { 'x-api-key': asset, ...headers } })
  const text = await response.text()
  const body = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
  return { status: response.status, headers: response.headers, body }
}
const price = (usd: number, at = new Date()) => ({ assetId: asset, usd, source: 'exchange', at })

describe('prices', () => {
  test('come from what the producer wrote, in every process, without a query', async () => {
    await produce(services[0]!, [price(1)])
    expect((await get(`/v1/price?asset=${asset}`)).body).toMatchObject({ asset, usd: 1, stale_flag: false })
    const before = database.queries
    await waitFor(async () => (await get(`/v1/price?asset=${asset}`, { at: 1 })).body.usd === 1)
    expect(database.queries).toBe(before)
  })

  test('fall back to the database, once for all who ask', async () => {
    await database.saveTrade(price(7))
    const before = database.queries
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => get(`/v1/price?asset=${asset}`, { at: i % 2 })),
    )
    expect(answers.every(({ body }) => body.usd === 7 && body.stale_flag === false)).toBe(true)
    expect(database.queries - before).toBe(1)
  })

  test('have cache headers for the CDN, and 304 for clients that have them', async () => {
    await produce(services[0]!, [price(2)])
    const first = await get(`/v1/price?asset=${asset}`)
    expect(first.headers.get('cache-control')).toMatch(/^public, max-age=\d+, stale-while-revalidate=30$/)
    const again = await get(`/v1/price?asset=${asset}`, { headers: { 'if-none-match': first.headers.get('etag')! } })
    expect(again.status).toBe(304)
  })

  test('of unknown assets are 404, and bad requests 400', async () => {
    expect((await get(`/v1/price?asset=${asset}`)).status).toBe(404)
    expect((await get('/v1/price?asset=%20')).status).toBe(400)
    expect((await get(`/v1/ohlc?asset=${asset}&interval=7y`)).status).toBe(400)
  })
})

test('closed candles never expire, an open one for an hour', async () => {
  const hourMs = 3_600_000
  const start = Math.floor(Date.now() / hourMs) * hourMs - 2 * hourMs
  for (const [usd, at] of [
    [1, start],
    [5, start + 1000],
    [3, start + 2000],
    [4, Date.now()],
  ] as const)
    await database.saveTrade(price(usd, new Date(at)))
  const { body } = await get(`/v1/ohlc?asset=${asset}&interval=1h&from=${start}&count=3`)
  expect(body.candles[0]).toMatchObject({ open: 1, high: 5, low: 1, close: 3, closed: true })
  expect(body.candles.at(-1)).toMatchObject({ close: 4, closed: false })
  const { cache } = services[0]!
  expect((await cache.get(keys.ohlc(asset, '1h', start)))!.freshMs).toBe(Infinity)
  expect((await cache.get(keys.ohlc(asset, '1h', start + 2 * hourMs)))!.freshMs).toBeLessThanOrEqual(hourMs)
})

test('metadata is cached and, once a change was acknowledged, new everywhere', async () => {
  await database.saveAsset({ assetId: asset, name: 'old', decimals: 7 })
  for (const at of [0, 1]) expect((await get(`/v1/assets/${asset}`, { at })).body.name).toBe('old')
  const response = await fetch(`${urls[0]}/v1/assets/${asset}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'x-api-key': asset },
    body: JSON.stringify({ name: 'new', decimals: 7 }),
  })
  expect(response.status).toBe(204)
  for (const at of [0, 1])
    expect((await get(`/v1/assets/${asset}`, { at })).body).toMatchObject({ name: 'new', stale_flag: false })
})

test('minute limits hold across processes', async () => {
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await get(`/v1/vwap?asset=${asset}`, { at: i % 2 })).status)
  expect(statuses).toEqual([200, 200, 200, 429, 429, 429])
})

test('subscribers get what the producer of another process writes, and are counted while they are connected', async () => {
  await produce(services[0]!, [price(1)])
  const controller = new AbortController()
  const response = await fetch(`${urls[1]}/v1/stream?asset=${asset}`, {
    headers: { 'x-api-key': asset },
    signal: controller.signal,
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString()
  })().catch(() => undefined)
  await waitFor(async () => (await get(`/v1/subscribers?asset=${asset}`)).body.subscribers === 1)
  await waitFor(async () => {
    await produce(services[0]!, [price(42)])
    return text.includes('42')
  })
  controller.abort()
  await reading
  await waitFor(async () => services[1]!.presence.stats().members === 0, { timeoutMs: 15_000 })
}, 30_000)

test('/ready names the sources that are late', async () => {
  await produce(services[0]!, [price(1)])
  expect((await get('/ready')).body).toMatchObject({ ready: true, stale: [] })
  await services[0]!.freshness.report('exchange', '1ms')
  await waitFor(async () => (await get('/ready')).body.stale[0]?.source === 'exchange')
})

test('metrics name no key', async () => {
  await get(`/v1/price?asset=${asset}`)
  const { body } = await get('/metrics')
  expect(body).toContain('sluice_cache_hits_total{cache="default"')
  expect(body).not.toContain(asset)
})

test('without Redis, cached prices are served as stale, others from the database, and all is fresh again afterwards', async () => {
  await produce(services[0]!, [price(1)])
  expect((await get(`/v1/price?asset=${asset}`)).body.stale_flag).toBe(false)
  const cached = asset
  asset = `A${assets++}`
  await database.saveTrade(price(9))
  await redisServer.freeze()
  try {
    await waitFor(async () => (await get(`/v1/price?asset=${cached}`)).body.stale_flag === true)
    expect((await get(`/v1/price?asset=${asset}`)).body).toMatchObject({ usd: 9 })
    expect((await get('/ready')).body).toMatchObject({ ready: true, unknown: true })
  } finally {
    redisServer.thaw()
  }
  await waitFor(async () => (await get(`/v1/price?asset=${cached}`)).body.stale_flag === false)
}, 30_000)

test('after a wipe of Redis the most used prices are warm again', async () => {
  await produce(services[0]!, [price(3)])
  for (let i = 0; i < 20; i++) await get(`/v1/price?asset=${asset}`)
  const warmed = new Promise<{ warmed: number; tookMs: number }>((resolve) => services[0]!.cache.on('warmed', resolve))
  await redisServer.cli('FLUSHALL')
  await waitFor(async () => {
    await get(`/v1/price?asset=${asset}`)
    return services[0]!.cache.stats().unproven > 0
  })
  const result = await warmed
  expect(result.warmed).toBeGreaterThan(0)
  expect(result.tookMs).toBeLessThan(120_000)
  expect((await get(`/v1/price?asset=${asset}`)).body).toMatchObject({ usd: 3, stale_flag: false })
}, 30_000)

test('without the database, cached prices are still served and unknown ones are refused in time', async () => {
  await produce(services[0]!, [price(4)])
  await get(`/v1/price?asset=${asset}`)
  await postgres.kill('SIGKILL')
  try {
    expect((await get(`/v1/price?asset=${asset}`)).body).toMatchObject({ usd: 4, stale_flag: false })
    expect((await get(`/v1/price?asset=${asset}x`)).status).toBe(500)
  } finally {
    await postgres.restart()
  }
}, 60_000)
