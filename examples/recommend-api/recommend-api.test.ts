import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SpanStatusCode } from '@opentelemetry/api'
import { readEnv } from 'example-service'
import { openPool } from 'example-service/postgres'
import { Redis } from 'ioredis'
import type { Pool } from 'pg'
import { createLimiter } from 'sluice'
import { type PostgresServer, type RedisServer, startPostgres, startRedis, virtualClock, waitFor } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { recommendApi } from './src/app.ts'
import { Database } from './src/data/database.ts'
import { parseEnrichment, readEnrichment } from './src/data/enrichment.ts'
import { type Kind, parseEntity } from './src/data/entities.ts'
import { mayDeliver, recountMandatory } from './src/decide/mandatory-cap.ts'
import { recommend } from './src/decide/recommend.ts'
import { readPolicy } from './src/policy.ts'
import { type Services, startServices } from './src/services.ts'
import { readSettings, type Settings } from './src/settings.ts'
import { createTracing } from './src/tracing.ts'

const cap = 5
const untraced = createTracing({ sampleRate: 0 })
const enrichment = await readEnrichment(new URL('./enrichment.json', import.meta.url))

let postgres: PostgresServer
let redisServer: RedisServer
let pool: Pool
let database: Database
/** How many queries the pool was given. */
let queries = 0
let replicas: { services: Services; server: Server; url: string; redis: Redis | undefined }[] = []
/** Whether the model answers, and what it was asked. */
let isModelUp = true
/** What it answers instead of a score for each offer. */
let modelAnswer: unknown
let modelCalls: (readonly string[])[] = []
let names = 0
let tenant = ''
let customer = ''

interface More extends Partial<Settings> {
  readonly tracing?: ReturnType<typeof createTracing>
  readonly withoutRedis?: boolean
  readonly env?: Record<string, string>
}

async function startReplicas(count: number, { tracing = untraced, withoutRedis, env, ...more }: More = {}) {
  const settings = { ...readSettings(readEnv({})), ...more }
  for (let r = 0; r < count; r++) {
    const redis = withoutRedis
      ? undefined
      : new Redis(redisServer.port, { retryStrategy: () => 50, maxRetriesPerRequest: 1 })
    redis?.on('error', () => undefined)
    const services = await startServices({
      ...(redis && { redis }),
      ...{ database, settings, enrichment, tracing },
      // Counts are tested here, on machines that may be busy.
      deadlineMs: 3000,
      env: env ?? { RATE_LIMIT_TIER: 'enterprise', RATE_LIMIT_TIER_SMALL_CORP: 'free' },
      callModel: async (_, { offers }) => {
        modelCalls.push(offers)
        if (!isModelUp) throw new Error('away')
        return (modelAnswer ?? offers.map(() => 0.9)) as number[]
      },
    })
    const server = recommendApi(services).listen(0, '127.0.0.1')
    await once(server, 'listening')
    replicas.push({ services, server, redis, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  }
}

const save = (kind: Kind, id: string, body: object = {}): Promise<void> =>
  database.save(tenant, kind, id, parseEntity(kind, body))
const offer = (id: string, body: object = {}): Promise<void> => save('offers', id, body)

async function send(method: string, path: string, body: object, at = 0, headers: Record<string, string> = {}) {
  const response = await fetch(`${replicas[at % replicas.length]!.url}${path}`, {
    method,
    headers: { 'x-tenant-id': tenant, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const answer = (text === '' ? {} : JSON.parse(text)) as {
    offers?: { id: string; score: number; mandatory: boolean; creative: string }[]
    degradedScoring?: boolean
    detail?: string
  }
  return { ...answer, status: response.status, headers: response.headers }
}
const ask = (at = 0, headers: Record<string, string> = {}, more: object = {}) =>
  send('POST', '/v1/recommend', { customer_id: customer, ...more }, at, headers)
const idsOf = async (at = 0): Promise<string[]> => (await ask(at)).offers!.map(({ id }) => id)
const mandatoryIn = (answers: readonly { offers?: readonly { mandatory: boolean }[] }[]): number =>
  answers.flatMap(({ offers = [] }) => offers).filter(({ mandatory }) => mandatory).length

beforeAll(async () => {
  postgres = await startPostgres()
  pool = openPool(`${postgres.url}?connection_limit=20&pool_timeout=2`)
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown
  pool.query = ((...args: unknown[]) => {
    queries++
    return query(...args)
  }) as typeof pool.query
  database = new Database(pool)
  await database.prepare()
})

beforeEach(async () => {
  redisServer = await startRedis()
  isModelUp = true
  modelAnswer = undefined
  modelCalls = []
  names += 1
  tenant = `tenant-${names}`
  customer = `customer-${names}`
})

afterEach(async () => {
  for (const { services, server, redis } of replicas) {
    server.close()
    server.closeAllConnections()
    await services.close()
    redis?.disconnect()
  }
  replicas = []
  await redisServer.stop()
})

afterAll(async () => {
  await pool?.end()
  await postgres?.stop()
})

describe('tiers', () => {
  test('are 100, 1,000 and 10,000 a minute; standard unless a variable says otherwise', async () => {
    await startReplicas(1, { env: { RATE_LIMIT_TIER_SMALL_CORP: 'free', RATE_LIMIT_TIER_BIG_CORP: 'enterprise' } })
    for (const [name, limit] of [
      [tenant, '1000'],
      ['small-corp', '100'],
      ['big-corp', '10000'],
    ]) {
      tenant = name!
      expect((await ask()).headers.get('x-ratelimit-limit')).toBe(limit)
    }
  })

  test('slide: there is no minute with more than its limit, wherever it begins', async () => {
    const clock = virtualClock()
    const policy = await readPolicy(readSettings(readEnv({})))
    const recount = { mandatory: recountMandatory(database) }
    const limiter = await createLimiter({ policy, recount, clock, env: {} })
    const request = {
      method: 'POST',
      path: '/v1/recommend',
      route: '/v1/recommend',
      headers: { 'x-tenant-id': tenant },
    }
    const admitted = async (count: number): Promise<number> => {
      const decisions = await Promise.all(Array.from({ length: count }, () => limiter.check(request)))
      return decisions.filter(({ allowed }) => allowed).length
    }
    expect(await admitted(1)).toBe(1)
    await clock.advance(59_000)
    expect(await admitted(1500)).toBe(999)
    await clock.advance(2000)
    expect(await admitted(1500)).toBe(1)
    await limiter.close()
  })

  test('hold per endpoint and tenant over all replicas, whatever else a client invents', async () => {
    await startReplicas(2)
    tenant = 'small-corp'
    const answers = await Promise.all(Array.from({ length: 130 }, (_, i) => ask(i, { 'x-client-id': `invented-${i}` })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    const denied = answers.find(({ status }) => status === 429)!
    expect(denied.headers.get('x-ratelimit-limit')).toBe('100')
    expect(denied.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    // The endpoint is the pattern of its route, so another id is not another endpoint.
    const put = (i: number) => send('PUT', `/v1/guardrails/g${i}`, { priority: 'wrong' }, i)
    const puts = await Promise.all(Array.from({ length: 130 }, (_, i) => put(i)))
    expect(puts.filter(({ status }) => status === 400)).toHaveLength(100)
    expect(puts.filter(({ status }) => status === 429)).toHaveLength(30)
  })

  test.each([503, 429] as const)(
    'while Redis is away: recommend is closed with %i, the rest is limited locally',
    async (closedStatus) => {
      await startReplicas(1, { closedStatus })
      tenant = 'small-corp'
      await redisServer.kill()
      expect((await ask()).status).toBe(closedStatus)
      const puts = await Promise.all(
        Array.from({ length: 130 }, (_, i) => send('PUT', `/v1/rules/r${i}`, { priority: 'wrong' })),
      )
      expect(puts.filter(({ status }) => status === 400)).toHaveLength(100)
      expect(puts.filter(({ status }) => status === 429)).toHaveLength(30)
    },
  )

  test('need no Redis where one instance is enough', async () => {
    await startReplicas(1, { withoutRedis: true })
    tenant = 'small-corp'
    await offer('a', { mandatory: true })
    const answers = await Promise.all(Array.from({ length: 110 }, () => ask()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    expect(mandatoryIn(answers)).toBe(cap)
  })
})

describe('models', () => {
  test('that fail five times are not called, and the answer is marked until a probe succeeds', async () => {
    await startReplicas(1, { modelCooldownMs: 300 })
    await offer('a', { creatives: [{ id: 'x', weight: 0.8, placements: ['web'] }] })
    expect(await ask()).toMatchObject({ degradedScoring: false, offers: [{ id: 'a', score: 0.9 * 0.8 }] })
    isModelUp = false
    for (let i = 0; i < 8; i++) expect(await ask()).toMatchObject({ degradedScoring: true, offers: [{ score: 0.4 }] })
    expect(modelCalls).toHaveLength(1 + 5)
    const metrics = await replicas[0]!.services.registry.metrics()
    expect(metrics).toContain('scoringModelFailureTotal{model="default"} 5')
    expect(metrics).toContain('decisionFlowExecutionLatency_count 9')
    expect(metrics).toContain('decisionLatencyMs_count 9')
    isModelUp = true
    await waitFor(async () => (await ask()).degradedScoring === false)
  })

  test('are called once for all their offers; without them priority and weight decide', async () => {
    await startReplicas(1)
    const weighing = (weight: number) => ({ creatives: [{ id: 'x', weight, placements: ['web'] }] })
    await offer('heavy', weighing(2))
    await offer('first', { ...weighing(1), priority: 9 })
    await offer('light', weighing(1))
    expect(await idsOf()).toEqual(['heavy', 'first', 'light'])
    expect(modelCalls).toEqual([['first', 'heavy', 'light']])
    isModelUp = false
    expect(await idsOf()).toEqual(['first', 'heavy', 'light'])
  })

  test.each([[{}], [[0.9]], [['high', 'low']], [[0.9, null]]])(
    'that do not answer with a score for each offer have failed: %j',
    async (answer) => {
      await startReplicas(1)
      await offer('a')
      await offer('b')
      modelAnswer = answer
      expect(await ask()).toMatchObject({ degradedScoring: true, offers: [{ score: 0.5 }, { score: 0.5 }] })
      expect(replicas[0]!.services.scoring.breakers.stats()).toMatchObject([{ failed: 1 }])
    },
  )
})

describe('what is sent', () => {
  test.each([
    ['POST', '/v1/recommend', { customer_id: 'a\0' }],
    ['POST', '/v1/recommend', { customer_id: '\ud800' }],
    ['POST', '/v1/recommend', { customer_id: 'c'.repeat(201) }],
    ['PUT', '/v1/offers/a%00', {}],
    ['PUT', '/v1/offers/a', { category: 'a\0' }],
    ['PUT', '/v1/offers/a', { category: '\ud800' }],
    ['PUT', '/v1/offers/a', { priority: 2 ** 31 }],
    // A cap that was spent and a budget that then refuses would cost the customer a mandatory offer.
    ['PUT', '/v1/offers/a', { mandatory: true, paced: true }],
  ] as [string, string, object][])(
    'is refused with 400 where PostgreSQL could not store it, or nobody could mean it: %s %s %j',
    async (...sent) => {
      await startReplicas(1)
      expect((await send(...sent)).status).toBe(400)
    },
  )
})

describe('qualification', () => {
  test('takes rules and contact policies in order of priority, and guardrails at once', async () => {
    await startReplicas(1)
    for (const id of ['card', 'loan', 'note']) await offer(id, { category: id })
    await save('rules', 'gold', { categories: ['card'], field: 'customer.segment', values: ['gold'], fit: 0.5 })
    await save('rules', 'risky', {
      ...about('card'),
      field: 'customer.credit_score',
      values: ['300'],
      fit: 0,
      priority: 5,
    })
    await save('contact-policies', 'nobody', { categories: ['loan'], allow: false })
    await save('contact-policies', 'but-vip', { categories: ['loan'], customers: ['vip'], allow: true, priority: 1 })
    await save('guardrails', 'stop', { offers: ['note'] })
    await database.saveCustomerData(tenant, 'vip', 'customer_profile', { segment: 'gold', credit_score: 700 })
    await database.saveCustomerData(tenant, 'poor', 'customer_profile', { segment: 'gold', credit_score: 300 })
    customer = 'vip'
    expect((await ask()).offers).toMatchObject([{ id: 'loan' }, { id: 'card', score: 0.9 * 0.5 }])
    customer = 'poor'
    expect(await idsOf()).toEqual([])
  })

  test('knows all rules, policies and guardrails, however few offers are loaded', async () => {
    await startReplicas(1, { maxActiveOffers: 1 })
    await offer('a', { category: 'card' })
    await save('rules', 'other', { ...about('loan'), field: 'f', values: [], fit: 1, priority: 1 })
    await save('rules', 'gold', { ...about('card'), field: 'customer.segment', values: ['gold'], fit: 1 })
    expect(await idsOf()).toEqual([])
    await database.saveCustomerData(tenant, 'vip', 'customer_profile', { segment: 'gold' })
    customer = 'vip'
    expect(await idsOf()).toEqual(['a'])
    await send('PUT', '/v1/guardrails/loans', { ...about('loan'), priority: 1 })
    await send('PUT', '/v1/guardrails/cards', about('card'))
    expect(await idsOf()).toEqual([])
  })

  test('shows the heaviest creative of the placement', async () => {
    await startReplicas(1)
    const creatives = [
      { id: 'banner', weight: 1, placements: ['web'] },
      { id: 'wide', weight: 2, placements: ['web', 'tv'] },
      { id: 'text', weight: 1, placements: ['email'] },
    ]
    await offer('a', { creatives })
    expect((await ask()).offers).toMatchObject([{ creative: 'wide' }])
    expect((await ask(0, {}, { placement: 'email' })).offers).toMatchObject([{ creative: 'text' }])
    expect((await ask(0, {}, { placement: 'radio' })).offers).toEqual([])
  })

  const about = (category: string) => ({ categories: [category] })
})

describe('enrichment', () => {
  test('reads the document: what to fetch, under which prefix, for how long', async () => {
    await startReplicas(1)
    await database.saveCustomerData(tenant, customer, 'customer_profile', { credit_score: 700, secret: 1 })
    await database.saveCustomerData(tenant, customer, 'real_time_signals', { last_page_viewed: '/a' })
    const { data } = replicas[0]!.services
    const read = (more: object[] = []) =>
      data.enrich(tenant, customer, more.length === 0 ? enrichment : parseEnrichment({ enrichment: { sources: more } }))
    expect(await read()).toEqual({ 'customer.credit_score': 700, 'signals.last_page_viewed': '/a' })
    await database.saveCustomerData(tenant, customer, 'real_time_signals', { last_page_viewed: '/b' })
    expect(await read()).toMatchObject({ 'signals.last_page_viewed': '/a' })
    const signals = { schemaId: 'real_time_signals', fields: ['last_page_viewed'], prefix: 's' }
    expect(await read([{ ...signals, cacheTtlSeconds: 0 }])).toEqual({ 's.last_page_viewed': '/b' })
    expect(parseEnrichment({ enrichment: { sources: [signals] } })).toMatchObject([{ cacheTtlSeconds: 60 }])
    expect(() => parseEnrichment({ enrichment: { sources: [{ ...signals, fields: 'a' }] } })).toThrow(
      /sources.0.fields/,
    )
  })
})

describe('what is cached', () => {
  test('is not fetched twice, and a change is visible at once in all replicas', async () => {
    await startReplicas(2)
    await offer('old')
    for (let i = 0; i < 4; i++) expect(await idsOf(i)).toEqual(['old'])
    const heavy = { creatives: [{ id: 'x', weight: 5, placements: ['web'] }] }
    expect((await send('PUT', '/v1/offers/new', heavy)).status).toBe(204)
    for (let i = 0; i < 4; i++) expect(await idsOf(i)).toEqual(['new', 'old'])
    expect((await send('PUT', '/v1/guardrails/no-new', { offers: ['new'] }, 1)).status).toBe(204)
    for (let i = 0; i < 4; i++) expect(await idsOf(i)).toEqual(['old'])
    const wrong = await send('PUT', '/v1/offers/new', { creatives: [{ id: 'x', weight: 'much', placements: [] }] })
    expect(wrong).toMatchObject({ status: 400, detail: expect.stringContaining('creatives.0.weight') })
    const unknown = await send('PUT', '/v1/offers/new', { priorty: 5 })
    expect(unknown).toMatchObject({ status: 400, detail: 'Unrecognized key: "priorty"' })
  })

  test('is changed while Redis is away too, and visible in all replicas once it is back', async () => {
    await startReplicas(2)
    await offer('old')
    for (let i = 0; i < 2; i++) expect(await idsOf(i)).toEqual(['old'])
    // Stopped, so that it comes back with what it had.
    await redisServer.freeze()
    expect((await send('PUT', '/v1/offers/old', { active: false })).status).toBe(202)
    redisServer.thaw()
    for (let i = 0; i < 2; i++)
      await waitFor(async () => {
        const { status, offers } = await ask(i)
        return status === 200 && offers!.length === 0
      })
  })

  test('is read every time with a TTL of 0', async () => {
    await startReplicas(1, { ttl: { offers: 0, policies: 300, guardrails: 30 } })
    await offer('a')
    expect(await idsOf()).toEqual(['a'])
    await offer('b')
    expect(await idsOf()).toEqual(['a', 'b'])
  })

  test('is at most MAX_ACTIVE_OFFERS, by priority, and stays cacheable at 5,000 offers', async () => {
    await startReplicas(2)
    const body = { ...parseEntity('offers', {}).body, note: undefined }
    const padding = 'x'.repeat(300)
    await pool.query(
      `insert into entities select $1, 'offers', 'o' || n, n, true, $2::jsonb || jsonb_build_object('category', $3::text)
       from generate_series(1, 6000) n`,
      [tenant, body, padding],
    )
    const answers = [await ask(0), await ask(0), await ask(1)]
    expect(answers.map(({ offers }) => offers!.length)).toEqual([3, 3, 3])
    expect(modelCalls.map((offers) => offers.length)).toEqual([5000, 5000, 5000])
    expect(modelCalls[0]![0]).toBe('o6000')
    const before = queries
    await ask(0)
    await ask(1)
    expect(queries).toBe(before)
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

  test('are counted for each tenant, also where customers have the same id', async () => {
    await startReplicas(1)
    const first = await Promise.all(Array.from({ length: 10 }, () => ask()))
    tenant = `${tenant}-other`
    await offer('must', { mandatory: true })
    const second = await Promise.all(Array.from({ length: 10 }, () => ask()))
    expect([mandatoryIn(first), mandatoryIn(second)]).toEqual([cap, cap])
  })

  test('are delivered exactly five times when Redis is killed half-way', async () => {
    await startReplicas(3)
    const deliver = (i: number): Promise<boolean> =>
      mayDeliver([tenant, customer], cap, replicas[i % 3]!.services.limiter, database)
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
    const question = { tenant, customer, placement: 'web', limit: 3 }
    const decide = () => untraced.decide({}, (trace) => recommend(question, services, trace))
    for (let i = 0; i < 3; i++) expect(mandatoryIn([await decide()])).toBe(1)
    await redisServer.restart()
    await waitFor(async () =>
      (await Promise.all(replicas.map((each) => each.services.limiter.health()))).every(({ ready }) => ready),
    )
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i)))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    expect(mandatoryIn(answers)).toBe(2)
  })

  test('are blocked while both are away', async () => {
    await startReplicas(1)
    await ask()
    await redisServer.kill()
    await postgres.freeze()
    try {
      const { limiter } = replicas[0]!.services
      const decision = await limiter.take([tenant, customer], { rule: 'mandatory' })
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
    return database.mandatoryDelivered(tenant, customer, day)
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

describe('tracing', () => {
  const steps = ['load', 'qualify', 'score', 'choose']

  test('writes the steps of a sampled decision to a file', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'recommend-trace-')), 'spans')
    const tracing = createTracing({ sampleRate: 1, file })
    await startReplicas(1, { tracing })
    await ask()
    await tracing.close()
    const spans = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(spans.map(({ name }) => name)).toEqual([...steps, 'decision'])
    expect(spans[0]).toMatchObject({ durationMs: expect.any(Number), attributes: { tenant, customer } })
  })

  test('sends them to a collector of OpenTelemetry, as one tree', async () => {
    interface Span {
      readonly name: string
      readonly traceId: string
      readonly spanId: string
      readonly parentSpanId?: string
      readonly status: { readonly code?: number }
      readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]
    }
    const spans: Span[] = []
    const collector = createServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      expect(request.url).toBe('/v1/traces')
      for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
        expect(JSON.stringify(resource)).toContain('recommend-api')
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.setHeader('content-type', 'application/json').end('{}')
    }).listen(0, '127.0.0.1')
    await once(collector, 'listening')
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`)
    try {
      const tracing = createTracing({ sampleRate: 1, isExported: true })
      await startReplicas(1, { tracing })
      await ask()
      await tracing.decide({}, () => Promise.reject(new Error('failed'))).catch(() => undefined)
      await tracing.close()
    } finally {
      vi.unstubAllEnvs()
      collector.close()
      collector.closeAllConnections()
    }
    const [decision, failed] = spans.filter(({ name }) => name === 'decision') as [Span, Span]
    expect(failed.status).toMatchObject({ code: SpanStatusCode.ERROR })
    expect(decision.status.code ?? 0).toBe(SpanStatusCode.UNSET)
    expect(decision.attributes).toContainEqual({ key: 'customer', value: { stringValue: customer } })
    const inside = spans.filter(({ parentSpanId }) => parentSpanId === decision.spanId)
    expect(inside.map(({ name }) => name)).toEqual(steps)
    expect(new Set(inside.map(({ traceId }) => traceId))).toEqual(new Set([decision.traceId]))
  })
})

test('reads go to the replica, except right after a change', async () => {
  await pool.query('create database replica')
  const replica = openPool(postgres.url.replace(/\/[^/]*$/, '/replica'))
  try {
    await new Database(replica).prepare()
    const both = new Database(pool, replica)
    await both.save(tenant, 'offers', 'new', parseEntity('offers', {}))
    expect(await both.active(tenant, 'offers', 10)).toEqual([])
    expect(await both.active(tenant, 'offers', 10, { fromPrimary: true })).toMatchObject([{ id: 'new' }])
  } finally {
    await replica.end()
  }
})

test('the size of a pool and how long to wait for it come from the URL', () => {
  const { options } = openPool('postgres://localhost/db?connection_limit=25&pool_timeout=7')
  expect(options).toMatchObject({ max: 25, connectionTimeoutMillis: 7000 })
  expect(openPool('postgres://localhost/db').options).toMatchObject({ max: 10, connectionTimeoutMillis: 10_000 })
})

test('the environment is read as in the original', () => {
  const env = { MODEL_CB_THRESHOLD: '3', MODEL_CB_COOLDOWN_MS: '1000', SCORING_FALLBACK_SCORE: '0.2' }
  expect(readSettings(readEnv(env))).toMatchObject({ modelFailures: 3, modelCooldownMs: 1000, fallbackScore: 0.2 })
  expect(readSettings(readEnv({}))).toMatchObject({ maxActiveOffers: 5000, ttl: { offers: 300, guardrails: 30 } })
  expect(() => readSettings(readEnv({ MODEL_CB_THRESHOLD: 'five' }))).toThrow('MODEL_CB_THRESHOLD is five')
  expect(() => readSettings(readEnv({ OFFERS_CACHE_TTL_SECONDS: '0.0001' }))).toThrow('OFFERS_CACHE_TTL_SECONDS is')
})
