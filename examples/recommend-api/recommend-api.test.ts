import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { type PostgresServer, type RedisServer, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recommendApi } from './src/app.ts'
import { Database, type Offer } from './src/database.ts'
import { mayDeliver } from './src/mandatory-cap.ts'
import { recommend } from './src/recommend.ts'
import { type Services, startServices } from './src/services.ts'
import { poolSize, readSettings, type Settings } from './src/settings.ts'

const cap = 5
const quiet = (): void => undefined

let postgres: PostgresServer
let redisServer: RedisServer
let pool: Pool
let database: Database
let replicas: { services: Services; server: Server; url: string; redis: Redis }[] = []
/** Whether the model answers. */
let isModelUp = true
let modelCalls = 0
let traced: object[] = []
let names = 0
let tenant = ''
let customer = ''

async function startReplicas(count: number, more: Partial<Settings> = {}): Promise<void> {
  const settings = { ...readSettings({}), traceSampleRate: 0, ...more }
  for (let r = 0; r < count; r++) {
    const redis = new Redis(redisServer.port, { retryStrategy: () => 50, maxRetriesPerRequest: 1 })
    redis.on('error', quiet)
    const services = await startServices({
      redis,
      database,
      settings,
      // Counts are tested here, on machines that may be busy.
      deadlineMs: 3000,
      env: { RATE_LIMIT_TIER: 'enterprise', RATE_LIMIT_TIER_SMALL: 'free' },
      callModel: async () => {
        modelCalls += 1
        if (!isModelUp) throw new Error('away')
        return 0.9
      },
      trace: (decision) => traced.push(decision),
    })
    const server = recommendApi(services).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    replicas.push({ services, server, redis, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  }
}

const offer = (id: string, more: Partial<Offer> = {}): Promise<void> =>
  database.saveOffer(tenant, { id, model: 'ctr', weight: 1, mandatory: false, paced: false, segment: null, ...more })

async function ask(at = 0, headers: Record<string, string> = {}) {
  const response = await fetch(`${replicas[at % replicas.length]!.url}/v1/recommend`, {
    method: 'POST',
    headers: { 'x-tenant-id': tenant, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ customer_id: customer }),
  })
  const body = (await response.json()) as {
    offers?: { id: string; score: number; mandatory: boolean }[]
    degradedScoring?: boolean
  }
  return { ...body, status: response.status, headers: response.headers }
}

const mandatoryIn = (answers: readonly { offers?: readonly { mandatory: boolean }[] }[]): number =>
  answers.flatMap(({ offers = [] }) => offers).filter(({ mandatory }) => mandatory).length

beforeAll(async () => {
  postgres = await startPostgres()
  pool = new Pool({ connectionString: postgres.url, max: 20, connectionTimeoutMillis: 2000 })
  pool.on('error', quiet)
  database = new Database(pool)
  await database.prepare()
}, 60_000)

beforeEach(async () => {
  redisServer = await startRedis()
  isModelUp = true
  modelCalls = 0
  traced = []
  names += 1
  tenant = `tenant-${names}`
  customer = `customer-${names}`
})

afterEach(async () => {
  for (const { services, server, redis } of replicas) {
    server.close()
    server.closeAllConnections()
    await services.close()
    redis.disconnect()
  }
  replicas = []
  await redisServer.stop()
})

afterAll(async () => {
  await pool?.end()
  await postgres?.stop()
})

describe('tiers', () => {
  test('hold per endpoint, tenant and client, with headers and Retry-After', async () => {
    await startReplicas(2)
    tenant = 'small'
    const answers = await Promise.all(Array.from({ length: 110 }, (_, i) => ask(i)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    const denied = answers.find(({ status }) => status === 429)!
    expect(denied.headers.get('x-ratelimit-limit')).toBe('100')
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await ask(0, { 'x-client-id': 'other' })).status).toBe(200)
  })

  test.each([503, 429] as const)('are closed with %i while Redis is away', async (closedStatus) => {
    await startReplicas(1, { closedStatus })
    await redisServer.kill()
    expect((await ask()).status).toBe(closedStatus)
  })
})

describe('models', () => {
  test('that fail five times are not called, and the answer is marked until a probe succeeds', async () => {
    await startReplicas(1, { modelCooldownMs: 300 })
    await offer('a', { weight: 0.8 })
    expect(await ask()).toMatchObject({ degradedScoring: false, offers: [{ id: 'a', score: 0.9 * 0.8 }] })
    isModelUp = false
    for (let i = 0; i < 8; i++) expect(await ask()).toMatchObject({ degradedScoring: true, offers: [{ score: 0.4 }] })
    expect(modelCalls).toBe(1 + 5)
    const metrics = await replicas[0]!.services.registry.metrics()
    expect(metrics).toContain('scoringModelFailureTotal{model="ctr"} 5')
    expect(metrics).toContain(`decisionFlowExecutionLatency_count{tenant="${tenant}"} 9`)
    isModelUp = true
    await waitFor(async () => (await ask()).degradedScoring === false)
  })
})

describe('what is cached', () => {
  test('is not fetched twice, and a change is visible at once in all replicas', async () => {
    await startReplicas(2)
    await offer('old')
    for (let i = 0; i < 4; i++) expect((await ask(i)).offers).toMatchObject([{ id: 'old' }])
    const headers = { 'x-tenant-id': tenant, 'content-type': 'application/json' }
    const put = { method: 'PUT', headers, body: JSON.stringify({ weight: 5 }) }
    expect((await fetch(`${replicas[0]!.url}/v1/offers/new`, put)).status).toBe(204)
    for (let i = 0; i < 4; i++) expect((await ask(i)).offers).toMatchObject([{ id: 'new' }, { id: 'old' }])
    await fetch(`${replicas[1]!.url}/v1/guardrails/block/new`, { method: 'POST', headers })
    for (let i = 0; i < 4; i++) expect((await ask(i)).offers).toMatchObject([{ id: 'old' }])
  })

  test('is answered in one decision with at most MAX_ACTIVE_OFFERS, and traced as often as asked', async () => {
    await startReplicas(1, { maxActiveOffers: 2, traceSampleRate: 1 })
    for (const id of ['a', 'b', 'c']) await offer(id)
    expect((await ask()).offers).toHaveLength(2)
    expect(traced).toMatchObject([{ tenant, customer, chosen: expect.any(Array), scores: expect.any(Array) }])
  })
})

describe('mandatory offers', () => {
  beforeEach(() => offer('must', { mandatory: true }))

  test('are delivered exactly five times a day, also by 200 requests at once', async () => {
    await startReplicas(3)
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)))
    expect(mandatoryIn(answers)).toBe(cap)
    expect(await delivered()).toBe(cap)
  })

  test('are delivered exactly five times when Redis is killed half-way', async () => {
    await startReplicas(3)
    const deliver = (i: number): Promise<boolean> =>
      mayDeliver(customer, cap, replicas[i % 3]!.services.limiter, database)
    const first = Array.from({ length: 100 }, (_, i) => deliver(i))
    const killed = redisServer.kill()
    const second = Array.from({ length: 100 }, (_, i) => deliver(i))
    await killed
    const outcomes = await Promise.all([...first, ...second])
    expect(outcomes.filter(Boolean)).toHaveLength(cap)
    expect(await delivered()).toBe(cap)
  })

  test('are counted in PostgreSQL while Redis is away, and continue from there when it comes back empty', async () => {
    await startReplicas(3)
    await redisServer.kill()
    const { services } = replicas[0]!
    for (let i = 0; i < 3; i++) expect(mandatoryIn([await recommend(tenant, customer, services, quiet)])).toBe(1)
    await redisServer.restart()
    await waitFor(async () =>
      (await Promise.all(replicas.map((each) => each.services.limiter.health()))).every(({ ready }) => ready),
    )
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(mandatoryIn(answers)).toBe(2)
  })

  test('are blocked while both are away', async () => {
    await startReplicas(1)
    await ask()
    await redisServer.kill()
    await postgres.freeze()
    try {
      const { limiter } = replicas[0]!.services
      const decision = await limiter.take(customer, { rule: 'mandatory' })
      expect(decision).toMatchObject({ allowed: false, by: 'closed', reason: 'unavailable' })
    } finally {
      postgres.thaw()
    }
  }, 20_000)

  test('follow MAX_MANDATORY_OFFERS_PER_DAY, also when it is 0', async () => {
    await startReplicas(1, { maxMandatoryPerDay: 2 })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(i)))
    expect(mandatoryIn(answers)).toBe(2)
    await startReplicas(1, { maxMandatoryPerDay: 0 })
    customer = 'nobody'
    expect(mandatoryIn([await ask(1)])).toBe(0)
  })

  async function delivered(): Promise<number> {
    const day = new Date()
    day.setUTCHours(0, 0, 0, 0)
    return database.mandatoryDelivered(customer, day)
  }
})

test('a paced offer is delivered no faster than its plan and its burst allow', async () => {
  await startReplicas(2)
  const takes = Array.from({ length: 2000 }, (_, i) =>
    replicas[i % 2]!.services.limiter.take([tenant, 'renewal'], { rule: 'campaign' }),
  )
  const decisions = await Promise.all(takes)
  const passed = decisions.filter(({ allowed }) => allowed).length
  expect(passed).toBeGreaterThanOrEqual(500)
  // 500 at once, and what was planned during the test.
  expect(passed).toBeLessThan(700)
  const { pace } = decisions.at(-1)!.limits.find(({ name }) => name === 'per-day-pace')!
  expect(pace).toMatchObject({ burst: 500, spent: expect.any(Number), planned: expect.any(Number) })
})

test('the environment is read as in the original', () => {
  const env = { MODEL_CB_THRESHOLD: '3', MODEL_CB_COOLDOWN_MS: '1000', SCORING_FALLBACK_SCORE: '0.2' }
  expect(readSettings(env)).toMatchObject({ modelFailures: 3, modelCooldownMs: 1000, fallbackScore: 0.2 })
  expect(() => readSettings({ MODEL_CB_THRESHOLD: 'five' })).toThrow('MODEL_CB_THRESHOLD is five')
  expect(poolSize('postgres://localhost/db?connection_limit=25')).toBe(25)
  expect(poolSize('postgres://localhost/db')).toBe(10)
})
