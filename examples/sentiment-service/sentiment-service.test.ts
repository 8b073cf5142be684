import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connectRedis, readEnv } from 'example-service'
import { type MongoLimits, openMongoLimits, type RateLimits } from 'example-service/mongo-limits'
import { type RedisServer, startMongod, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { imageService } from '../image-service/src/app.ts'
import { sentimentService } from './src/app.ts'
import { rateLimitKey } from './src/rate-limit-key.ts'

const execute = promisify(execFile)
const sluice = join(import.meta.dirname, '../../packages/server/bin/sluice.js')
const documentOf = (service: string): RateLimits =>
  JSON.parse(readFileSync(join(import.meta.dirname, '..', service, 'rate-limits.json'), 'utf8'))
const quiet = (): void => undefined

const mongod = await startMongod()
if (!mongod.available) console.warn(`sentiment-service is not tested: ${mongod.why}`)

describe('the key', () => {
  const body = { tenant_id: 'nike', language: 'ja' }
  const headers = { 'x-api-key': 'premium-tier', user_id: '1234' }
  const ip = '192.0.2.1'
  const premium = new Set(['premium-tier'])

  test.each([
    [{ headers, body, ip }, 'apiKey:premium-tier'],
    [{ headers: { ...headers, 'x-api-key': 'invented' }, body, ip }, 'tenant:nike:lang:ja'],
    [{ headers: { user_id: '1234' }, body: { tenant_id: 'nike' }, ip }, 'user:1234'],
    [{ headers: {}, body: undefined, ip }, 'ip:192.0.2.1'],
    // What could be taken for another key, or for none, is not used.
    [{ headers: {}, body: { tenant_id: 'a:lang:b', language: 'c' }, ip }, 'ip:192.0.2.1'],
    [{ headers: { user_id: ['a', 'b'] }, body: { tenant_id: ['a'], language: {} }, ip }, 'ip:192.0.2.1'],
  ])('is premium key, else tenant and language, else user, else address: %#', (sender, key) => {
    expect(rateLimitKey(sender, premium)).toBe(key)
  })
})

describe.skipIf(!mongod.available)('two replicas beside image-service, on one Redis and one MongoDB', () => {
  const database = `sentiment-${process.pid}-${Date.now()}`
  let redisServer: RedisServer
  let images: MongoLimits
  const replicas: MongoLimits[] = []
  const closers: (() => unknown)[] = []
  const urls: string[] = []
  let imageUrl: string
  let tests = 0
  /** A separate tenant for each test. */
  const newTenant = (): string => `tenant-${tests++}`

  async function open(service: string): Promise<MongoLimits> {
    const given = {
      ...{ MONGODB_URL: mongod.available ? mongod.url : '', MONGODB_DATABASE: database, REDIS_URL: redisServer.url },
      ...{ POLL_MS: '100', LIMITER_DEADLINE_MS: '3000' },
    }
    const env = readEnv(given)
    const redis = connectRedis(env, quiet)
    const limits = await openMongoLimits(documentOf(service), { env, log: quiet, redis })
    closers.unshift(async () => {
      await limits.close()
      redis.disconnect()
    })
    return limits
  }
  /** On a socket for IPv4 and IPv6, as services listen by default. */
  async function listen(handler: RequestListener): Promise<string> {
    const server: Server = createServer(handler).listen(0, '::')
    await once(server, 'listening')
    closers.unshift(() => {
      server.close()
      server.closeAllConnections()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  beforeAll(async () => {
    if (!mongod.available) return
    redisServer = await startRedis()
    images = await open('image-service')
    imageUrl = await listen(imageService(images))
    for (let i = 0; i < 2; i++) {
      const limits = await open('sentiment-service')
      const premiumKeys = new Set(['premium-tier'])
      const trustedProxies = ['127.0.0.9/32']
      const app = await sentimentService({ limiter: limits.limiter, premiumKeys, trustedProxies })
      replicas.push(limits)
      urls.push(await listen(app.routing))
    }
  })

  afterAll(async () => {
    for (const close of closers) await close()
    await redisServer?.stop()
    if (mongod.available) await mongod.stop()
  })

  const post = (url: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const analyze = (body: object, { at = 0, headers = {} as Record<string, string> } = {}): Promise<Response> =>
    post(`${urls[at]}/v1/analyze`, { text: 'I love it', ...body }, headers)
  const classify = (body: object): Promise<Response> =>
    post(`${imageUrl}/v1/classify`, { image_url: 'https://images.example/1', ...body })
  const statuses = async (count: number, body: object): Promise<number[]> => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await analyze(body, { at: i % 2 })).status)
    return found
  }
  const quotas = async (answer: Promise<Response>): Promise<string | null> =>
    (await answer).headers.get('ratelimit-policy')

  /** Changes the document as an operator does, and waits until both replicas have read it. */
  const setLimits = async (key: string, limits: object): Promise<void> => {
    const former = replicas.map(({ limiter }) => limiter.policy.status.version)
    // With $setField, a key may contain dots, as addresses do.
    const custom = {
      $setField: { field: { $literal: key }, input: '$custom_rate_limits', value: { $literal: limits } },
    }
    await replicas[0]!.rateLimits.updateOne({ _id: 'sentiment-service' }, [
      { $set: { custom_rate_limits: custom, last_updated: '$$NOW' } },
    ])
    await waitFor(() => replicas.every(({ limiter }, i) => limiter.policy.status.version !== former[i]))
  }
  const limitOf = (tenant: string, rpd: number): Promise<void> => setLimits(`tenant:${tenant}:lang:en`, { rpd })
  const english = (tenant: string) => ({ tenant_id: tenant, language: 'en' })

  test('enforce the document as it is: custom limits for some keys, general ones for the rest', async () => {
    const general = '"rps";q=20;w=1, "rpm";q=1000;w=60, "rph";q=50000;w=3600, "rpd";q=100000;w=86400'
    expect(await quotas(analyze(english('client-corp')))).toBe(
      '"rpm";q=500;w=60, "rph";q=20000;w=3600, "rpd";q=250000;w=86400',
    )
    expect(await quotas(analyze(english('another')))).toBe(general)
    expect(await quotas(analyze({}, { headers: { 'x-api-key': 'premium-tier' } }))).toContain('"rps";q=100;w=1')
    expect(await quotas(analyze({}, { headers: { 'x-api-key': 'invented' } }))).toBe(general)
    expect(await quotas(analyze({}, { headers: { user_id: '1234' } }))).toContain('"rps";q=10;w=1')
    expect(await quotas(classify({ model_version: 'gpt-vision', hd_mode: true }))).toContain('"rps";q=2;w=1')
    expect(await quotas(classify({ model_version: 'gpt-vision' }))).toBe(general)
  })

  test('apply a custom limit for an address, on a socket for IPv4 and IPv6', async () => {
    // One of the three was spent above, with an invented key.
    await setLimits('ip:127.0.0.1', { rpd: 3 })
    expect(await statuses(3, {})).toEqual([200, 200, 429])
  })

  test('answer in the languages that they know: another spelling, or an invented one, is no way around a limit', async () => {
    const tenant = newTenant()
    await setLimits(`tenant:${tenant}:lang:en`, { rpm: 1 })
    expect(await statuses(2, english(tenant))).toEqual([200, 429])
    for (const language of ['EN', 'En', 'en-GB', 'x1'])
      expect([language, ...(await statuses(1, { tenant_id: tenant, language }))]).toEqual([language, 400])
  })

  test('share their counters: one of many on the last unit, and a denial spends nothing', async () => {
    const tenant = newTenant()
    await setLimits(`tenant:${tenant}:lang:en`, { rpm: 5, rpd: 6 })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => analyze(english(tenant), { at: i % 2 })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    const { limits } = await replicas[0]!.limiter.peek(`tenant:${tenant}:lang:en`)
    expect(limits.find(({ name }) => name === 'rpd')).toMatchObject({ remaining: 1 })
  })

  test('enforce a limit that was changed in MongoDB, once `last_updated` changes; the other service is not touched', async () => {
    const tenant = newTenant()
    const { version } = images.limiter.policy.status
    expect(await statuses(2, english(tenant))).toEqual([200, 200])
    await limitOf(tenant, 4)
    // The two that came before count.
    expect(await statuses(4, english(tenant))).toEqual([200, 200, 429, 429])
    expect(await statuses(1, { tenant_id: tenant, language: 'de' })).toEqual([200])
    expect(images.limiter.policy.status.version).toBe(version)
    // The same key in the other service is another bucket.
    expect((await images.limiter.peek(`tenant:${tenant}:lang:en`)).allowed).toBe(true)
  })

  test('keep the last good document when it is damaged', async () => {
    const tenant = newTenant()
    await limitOf(tenant, 1)
    const general = documentOf('sentiment-service').general_rate_limit
    const set = (limits: object) =>
      replicas[0]!.rateLimits.updateOne({ _id: 'sentiment-service' }, {
        $set: { general_rate_limit: limits },
        $currentDate: { last_updated: true },
      } as object)
    await set({ rps: -1 })
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError !== undefined))
    expect(await statuses(2, english(tenant))).toEqual([200, 429])
    expect(JSON.stringify(await replicas[0]!.ready())).toContain('rps')
    await set(general)
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError === undefined))
  })

  test('have keys that `sluice inspect` reads, whole or as service and key', async () => {
    if (!mongod.available) return
    const tenant = newTenant()
    await statuses(3, { tenant_id: tenant, language: 'ja' })
    const policy = `${mongod.url.replace('/?', `/${database}?`)}&service=sentiment-service&collection=rate_limits`
    const inspect = async (...args: string[]): Promise<string> =>
      (await execute(process.execPath, [sluice, 'inspect', ...args, '--redis', redisServer.url, '--policy', policy]))
        .stdout
    const [whole, parts] = await Promise.all([
      inspect(`sentiment-service/default/tenant:${tenant}:lang:ja`),
      inspect('sentiment-service', `tenant:${tenant}:lang:ja`),
    ])
    for (const printed of [whole, parts]) {
      expect(printed).toMatch(/rpm .* 997 of 1,000 left .* in \d+/)
      expect(printed).toMatch(/rpd .* 99,997 of 100,000 left .* in \d+/)
    }
  })

  test('let requests through while Redis is away, with the metric that alerts, and are exact again afterwards', async () => {
    const tenant = newTenant()
    await limitOf(tenant, 1)
    await redisServer.kill()
    expect(await statuses(4, english(tenant))).toEqual([200, 200, 200, 200])
    expect(await replicas[0]!.ready()).toMatchObject({ ready: true, exact: false })
    expect(await replicas[0]!.registry.metrics()).toMatch(/sluice_decisions_total\{[^}]*degraded="true"[^}]*\} [1-9]/)
    await redisServer.restart()
    await waitFor(async () => (await statuses(2, english(tenant))).includes(429))
  })

  test('keep the last rules while MongoDB is away; a replica that starts then has those it was built with', async () => {
    if (!mongod.available || mongod.pids.length === 0) return
    const tenant = newTenant()
    await limitOf(tenant, 2)
    for (const pid of mongod.pids) process.kill(pid, 'SIGKILL')
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError !== undefined), {
      timeoutMs: 60_000,
    })
    expect(await statuses(3, english(tenant))).toEqual([200, 200, 429])
    const started = await open('sentiment-service')
    const { limits } = await started.limiter.peek('user:1234')
    expect(limits.map(({ amount }) => amount)).toEqual([10, 500, 50_000])
    await mongod.settled()
    await limitOf(tenant, 3)
    expect(await statuses(2, english(tenant))).toEqual([200, 429])
    await waitFor(async () => (await started.limiter.peek(`tenant:${tenant}:lang:en`)).limits[0]!.amount === 3, {
      timeoutMs: 60_000,
    })
  })

  test('have metrics that name no tenant', async () => {
    const tenant = newTenant()
    await analyze(english(tenant))
    expect(await replicas[0]!.registry.metrics()).not.toContain(tenant)
  })
})
