import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { filePolicy } from 'sluice'
import { type PostgresServer, type RedisServer, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aggregate, runAggregator } from './src/aggregate.ts'
import { priceApi } from './src/app.ts'
import { Database, type Trade } from './src/database.ts'
import { indexAsset, indexTrades } from './src/indexer.ts'
import { keys } from './src/keys.ts'
import { type Services, startServices } from './src/services.ts'
import { fetchToml } from './src/toml.ts'

const day = new Date(Date.now() - 86_400_000)
let redisServer: RedisServer
let postgres: PostgresServer
let database: Database
/** Two API processes from the point of view of Redis and the database, and a third that aggregates. */
let services: Services[]
let aggregator: Services
let urls: string[]
const servers: Server[] = []
const clients: Redis[] = []
/** The home domain of an issuer. */
let domain: string
let tomlReads = 0
let assets = 0
let asked = 0
let lastTradeMs = 0
let asset = ''

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  ;[redisServer, postgres] = await Promise.all([startRedis(), startPostgres()])
  database = new Database(postgres.url)
  await database.prepare()
  domain = await listen(
    createServer((_, response) => {
      tomlReads += 1
      response.end('[DOCUMENTATION]\nORG_NAME="Ultra"\n[[CURRENCIES]]\ncode="yUSD"\n')
    }),
  )
  const start = (): Promise<Services> => {
    const redis = new Redis(redisServer.port, { retryStrategy: () => 50, maxRetriesPerRequest: 1 })
    redis.on('error', () => undefined)
    clients.push(redis)
    const ofDomain = (name: string) => fetchToml(name, domain)
    const policy = filePolicy(new URL('./sluice.yaml', import.meta.url).pathname)
    // Queries are counted here, on machines that may be busy.
    const redisDeadlineMs = 3000
    return startServices({ redis, database, policy, sources: ['kraken'], fetchToml: ofDomain, redisDeadlineMs })
  }
  services = [await start(), await start()]
  aggregator = await start()
  const options = { apiKeys: new Set(['known']), trustedProxies: ['127.0.0.0/8'] }
  urls = await Promise.all(services.map((each) => listen(createServer(priceApi(each, options)))))
})

afterAll(async () => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
  await Promise.all([...services, aggregator].map((each) => each.close()))
  for (const client of clients) client.disconnect()
  await database.close()
  await Promise.all([redisServer.stop(), postgres.stop()])
})

/** Each test has its own asset. */
beforeEach(() => {
  asset = `A${assets++}`
})

const get = async (path: string, { at = 0, headers = {} as Record<string, string> } = {}) => {
  // From another address each time, so that tests may ask as often as they like.
  const from = `198.51.${Math.floor(asked / 250) % 250}.${asked++ % 250}`
  const response = await fetch(`${urls[at]}${path}`, { headers: { 'x-forwarded-for': from, ...headers } })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
/** Each trade is later than the one before. */
function trade(price: number, more: Partial<Trade> = {}): Trade {
  lastTradeMs = Math.max(lastTradeMs + 1, Date.now())
  return { base: asset, quote: 'USD', price, amount: 1, source: 'kraken', at: new Date(lastTradeMs), ...more }
}
const trades = (...given: Trade[]): Promise<void> => indexTrades(aggregator, given)
/** One cycle of the aggregator, which repeats what Redis did not answer in time. */
const cycle = () =>
  waitFor(() =>
    aggregate(aggregator, day).then(
      () => true,
      () => false,
    ),
  )
const minuteMs = 60_000

describe('what the aggregator writes', () => {
  test('is what every process answers, without a query: price, VWAPs, open candles and divergence', async () => {
    await trades(trade(1, { amount: 3 }), trade(5, { source: 'sdex' }))
    await cycle()
    const paths = [
      `/v1/price?asset=${asset}`,
      ...['60s', '300', '900', '3600'].map((window) => `/v1/vwap?base=${asset}&quote=USD&window=${window}`),
      `/v1/ohlc?base=${asset}&granularity=86400`,
      `/v1/divergence?asset=${asset}`,
    ]
    const before = database.queries
    for (const at of [0, 1]) {
      const [price, vwap, , , , ohlc, div] = await Promise.all(paths.map((path) => get(path, { at })))
      expect(price!.body).toMatchObject({ assetId: asset, usd: 5, stale_flag: false })
      expect(vwap!.body).toMatchObject({ base: asset, quote: 'USD', window: 60, vwap: 2, volume: 4, trades: 2 })
      expect(ohlc!.body.candles).toMatchObject([{ open: 1, high: 5, low: 1, close: 5, closed: false }])
      expect(div!.body).toMatchObject({ divergence: 4 / 3, sources: 2 })
    }
    expect(database.queries).toBe(before)
  })

  test('follows every cycle, open candles as well, and processes never disagree', async () => {
    for (const price of [10, 12, 9]) {
      await trades(trade(price))
      await cycle()
      for (const at of [0, 1]) {
        const ohlc = `/v1/ohlc?base=${asset}&granularity=86400`
        await waitFor(async () => (await get(ohlc, { at })).body.candles[0].close === price)
        await waitFor(async () => (await get(`/v1/price?asset=${asset}`, { at })).body.usd === price)
      }
    }
  })
})

describe('candles', () => {
  test('that are closed never expire and are pinned by a CDN; open ones never outlive their end', async () => {
    const start = Math.floor(Date.now() / minuteMs) * minuteMs
    const past = start - 5 * minuteMs
    await trades(trade(1, { at: new Date(past) }), trade(5, { at: new Date(past + 1) }), trade(4))
    const closed = await get(`/v1/ohlc?base=${asset}&granularity=60&from=${past}`)
    expect(closed.body).toMatchObject({ candles: [{ open: 1, high: 5, close: 5, closed: true }], stale_flag: false })
    expect(closed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const open = await get(`/v1/ohlc?base=${asset}&granularity=60&count=6`)
    expect(open.headers.get('cache-control')).toBe('public, max-age=1')
    const { cache } = services[0]!
    expect((await cache.get(keys.ohlc(asset, 'USD', 60, past)))!.freshMs).toBe(Infinity)
    await cycle()
    const { value, freshMs } = (await cache.get<{ start: Date }>(keys.ohlc(asset, 'USD', 60, start)))!
    expect(freshMs).toBeLessThanOrEqual(value.start.getTime() + minuteMs + 5000 - Date.now() + 1000)
  })

  test('that have just closed get their last form from the aggregator', async () => {
    const start = Math.floor(Date.now() / minuteMs) * minuteMs - 5 * minuteMs
    await trades(trade(2, { at: new Date(start + 59_000) }))
    await get(`/v1/ohlc?base=${asset}&granularity=60&from=${start}`)
    expect((await get(`/v1/ohlc?base=${asset}&granularity=60&from=${start}`, { at: 1 })).body).toMatchObject({
      candles: [{ close: 2, closed: true }],
    })
  })
})

describe('what is read when it is asked for', () => {
  test('is one query for all who ask, in all processes', async () => {
    await trades(trade(7))
    const before = database.queries
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => get(`/v1/price?asset=${asset}`, { at: i % 2 })),
    )
    expect(answers.every(({ body }) => body.usd === 7 && body.stale_flag === false)).toBe(true)
    expect(database.queries - before).toBe(1)
  })

  test('is one query for the closed candles of a chart, and one for the open one', async () => {
    const hourMs = 60 * minuteMs
    await trades(trade(6, { at: new Date(Date.now() - 3 * hourMs) }), trade(8))
    const before = database.queries
    const { body } = await get(`/v1/ohlc?base=${asset}&granularity=3600&count=100`)
    expect(body.candles).toMatchObject([
      { open: 6, close: 6, closed: true },
      { open: 8, close: 8, closed: false },
    ])
    // Right after the hour, the last one is still open too.
    expect(database.queries - before).toBeLessThanOrEqual(3)
  })

  test('metadata lives 5 minutes and is new everywhere once the indexer has returned; home domains 15', async () => {
    const meta = { assetId: asset, code: 'yUSD', issuer: 'G', decimals: 7, homeDomain: 'issuer.example' }
    await indexAsset(aggregator, meta)
    const reads = tomlReads
    for (const at of [0, 1])
      expect((await get(`/v1/assets/${asset}`, { at })).body).toMatchObject({
        ...{ code: 'yUSD', issuedBy: { name: 'Ultra', currencies: ['yUSD'] }, stale_flag: false },
      })
    expect(tomlReads - reads).toBe(1)
    const { cache } = services[0]!
    const freshMs = async (key: ReturnType<typeof keys.meta>) => (await cache.get(key))!.freshMs
    expect(await freshMs(keys.meta(asset))).toBeGreaterThan(4 * minuteMs)
    expect(await freshMs(keys.meta(asset))).toBeLessThanOrEqual(5 * minuteMs)
    expect(await freshMs(keys.toml('issuer.example'))).toBeGreaterThan(13 * minuteMs)
    await indexAsset(aggregator, { ...meta, code: 'zUSD' })
    for (const at of [0, 1])
      expect((await get(`/v1/assets/${asset}`, { at })).body).toMatchObject({ code: 'zUSD', stale_flag: false })
  })

  test('has cache headers for the CDN, 304, 404 and 400', async () => {
    await trades(trade(2))
    const first = await get(`/v1/price?asset=${asset}`)
    expect(first.headers.get('cache-control')).toMatch(/^public, max-age=[01], stale-while-revalidate=30$/)
    const again = await get(`/v1/price?asset=${asset}`, { headers: { 'if-none-match': first.headers.get('etag')! } })
    expect(again.status).toBe(304)
    expect((await get(`/v1/price?asset=${asset}x`)).status).toBe(404)
    expect((await get('/v1/price?asset=%20')).status).toBe(400)
    expect((await get(`/v1/ohlc?base=${asset}&granularity=7`)).status).toBe(400)
    expect((await get(`/v1/vwap?base=${asset}&window=5m`)).status).toBe(400)
  })
})

test('no request ends the process or counts as a fault of the service', async () => {
  const latest = 8.64e15
  const paths = [
    ...[`/v1/ohlc?base=${asset}&from=${latest}&count=100`, `/v1/ohlc?base=${asset}&from=${latest - 1}`],
    ...['/v1/assets/%00', `/v1/assets/${'x'.repeat(65)}`],
  ]
  for (const path of paths) expect((await get(path)).status, path).toBe(400)
  expect((await get(`/v1/ohlc?base=${asset}&from=253000000000000&count=100`)).status).toBe(200)
})

test('a known API key has 600 a minute, an invented one is anonymous; clients behind a proxy are told apart', async () => {
  const quota = async (headers: Record<string, string>) =>
    (await get(`/v1/price?asset=${asset}`, { headers })).headers.get('ratelimit-policy')
  expect(await quota({ 'x-api-key': 'known' })).toBe('"requests/minute";q=600;w=60')
  expect(await quota({ 'x-api-key': 'invented' })).toBe('"requests/minute";q=120;w=60')
  const left = async (from: string, headers = {}): Promise<number> => {
    const answer = await get(`/v1/price?asset=${asset}`, { headers: { 'x-forwarded-for': from, ...headers } })
    return Number(/r=(\d+)/.exec(answer.headers.get('ratelimit')!)![1])
  }
  for (let i = 0; i < 5; i++) await left('203.0.113.1')
  expect(await left('203.0.113.1')).toBeLessThan(await left('203.0.113.2'))
  // What a key holder spends is not taken from its address.
  for (let i = 0; i < 5; i++) await left('203.0.113.3', { 'x-api-key': 'known' })
  expect(await left('203.0.113.3')).toBe(119)
})

/** Opens a stream; `events` are the prices that have come so far. */
async function stream(at: number) {
  const controller = new AbortController()
  const response = await fetch(`${urls[at]}/v1/stream?asset=${asset}`, { signal: controller.signal })
  let text = ''
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString()
  })().catch(() => undefined)
  return {
    events: () => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!)),
    async close() {
      controller.abort()
      await reading
    },
  }
}

test('subscribers get what the aggregator writes, and are counted while they are connected', async () => {
  const { events, close } = await stream(1)
  await waitFor(async () => (await get(`/v1/subscribers?asset=${asset}`)).body.subscribers === 1)
  await trades(trade(42))
  await cycle()
  await waitFor(() => events().length >= 2)
  expect(events().at(-1)).toMatchObject({ usd: 42, stale_flag: false })
  await close()
})

test('metrics name no asset', async () => {
  await get(`/v1/price?asset=${asset}`)
  const metrics = await services[0]!.registry.metrics()
  expect(metrics).toContain('sluice_cache_hits_total{cache="default"')
  expect(metrics).toContain('sluice_freshness_stale')
  expect(metrics).not.toContain(asset)
})

test('what the aggregator wrote is there again after a wipe of Redis, with the next full pass', async () => {
  await trades(trade(3))
  await redisServer.cli('FLUSHALL')
  const running = runAggregator(aggregator, { cycleMs: 50, failed: () => undefined })
  await waitFor(async () => (await aggregator.cache.get(keys.price(asset))) !== undefined)
  await running.stop()
  const before = database.queries
  expect((await get(`/v1/price?asset=${asset}`)).body).toMatchObject({ usd: 3, stale_flag: false })
  expect(database.queries).toBe(before)
})

test('without Redis every answer comes from the database and says stale, and none does afterwards', async () => {
  await trades(trade(1))
  await cycle()
  const cached = asset
  expect((await get(`/v1/price?asset=${cached}`)).body.stale_flag).toBe(false)
  asset = `A${assets++}`
  await trades(trade(9))
  await database.saveAsset({ assetId: asset, code: 'c', issuer: 'G', decimals: 7, homeDomain: null })
  // What never was in memory, and what is.
  const paths = [
    ...[`/v1/price?asset=${asset}`, `/v1/vwap?base=${asset}`, `/v1/ohlc?base=${asset}`, `/v1/assets/${asset}`],
    ...[`/v1/divergence?asset=${asset}`, `/v1/price?asset=${cached}`, `/v1/price?asset=${asset}-unknown`],
  ]
  await redisServer.freeze()
  try {
    // Until then a proof that nothing changed may still hold.
    await waitFor(async () => (await get(`/v1/price?asset=${cached}`)).body.stale_flag === true)
    for (let i = 0; i < 3; i++)
      for (const path of paths) expect((await get(path)).body, `${path}, time ${i}`).toMatchObject({ stale_flag: true })
    await database.saveTrades([trade(11)])
    await waitFor(async () => (await get(`/v1/price?asset=${asset}`)).body.usd === 11)
    const { events, close } = await stream(0)
    await waitFor(() => events().length > 0)
    expect(events()).toMatchObject([{ usd: 11, stale_flag: true }])
    await close()
    expect((await get(`/v1/subscribers?asset=${asset}`)).status).toBe(503)
  } finally {
    redisServer.thaw()
  }
  await waitFor(async () => (await get(`/v1/price?asset=${cached}`)).body.stale_flag === false)
  await cycle()
  for (const path of paths) expect((await get(path)).body).toMatchObject({ stale_flag: false })
})

test('without the database, cached prices are still served and unknown ones are refused in time', async () => {
  await trades(trade(4))
  await cycle()
  await get(`/v1/price?asset=${asset}`)
  await postgres.kill('SIGKILL')
  try {
    expect((await get(`/v1/price?asset=${asset}`)).body).toMatchObject({ usd: 4, stale_flag: false })
    expect((await get(`/v1/price?asset=${asset}x`)).status).toBe(503)
    // Without Redis as well, what this process has read.
    await redisServer.freeze()
    await waitFor(async () => (await get(`/v1/price?asset=${asset}`)).body.stale_flag === true)
    expect(await get(`/v1/price?asset=${asset}`)).toMatchObject({ status: 200, body: { usd: 4, stale_flag: true } })
    expect((await get(`/v1/price?asset=${asset}x`)).status).toBe(503)
  } finally {
    redisServer.thaw()
    await postgres.restart()
  }
})

test('redis.conf is what the document decided, and its backup can be restored', async () => {
  const lines = readFileSync(new URL('./redis.conf', import.meta.url), 'utf8').matchAll(/^([a-z]\S*) (.+)$/gm)
  const args = [...lines].flatMap(([, name = '', value = '']) => [`--${name}`, value === '""' ? '' : value])
  const decided = await startRedis({ args })
  try {
    const info = await decided.cli<string>('INFO')
    expect(info).toContain('aof_enabled:1')
    expect(info).toContain('maxmemory_policy:allkeys-lru')
    expect(info).toContain('maxmemory:536870912')
    await decided.cli('SET', 'price', '42')
    const folder = mkdtempSync(join(tmpdir(), 'price-backup-'))
    const backup = ['-p', String(decided.port), '--rdb', join(folder, 'dump.rdb')]
    execFileSync('redis-cli', backup, { stdio: 'pipe' })
    const restored = await startRedis({ args: ['--dir', folder, '--appendonly', 'no'] })
    try {
      expect(await restored.cli('GET', 'price')).toBe('42')
      expect(await restored.cli('CONFIG', 'SET', 'appendonly', 'yes')).toBe('OK')
    } finally {
      await restored.stop()
    }
  } finally {
    await decided.stop()
  }
})
