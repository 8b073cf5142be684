import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { Redis } from 'ioredis'
import { type RedisServer, startMongod, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sentimentService } from './src/app.ts'
import { openPolicies, type Policies, type StoredPolicy, seedPolicy } from './src/policies.ts'
import { type Services, startServices } from './src/services.ts'

const execute = promisify(execFile)
const sluice = join(import.meta.dirname, '../../packages/server/bin/sluice.js')
const service = 'sentiment-service'
/** Counts are tested here, on machines that may be busy. */
const deadlineMs = 3000
/** What `npm start` runs; npm itself does not always forward signals. */
const { start } = (
  JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as { scripts: { start: string } }
).scripts

// A single server, so that the policy is polled; that it arrives by change stream too is tested with the source itself.
const mongod = await startMongod()
if (!mongod.available) console.warn(`sentiment-service is not tested: ${mongod.why}`)

describe.skipIf(!mongod.available)('sentiment-service, with two replicas', () => {
  const database = `sentiment-${process.pid}-${Date.now()}`
  const premiumKeys = new Map([['key-of-acme', 'acme']])
  let redisServer: RedisServer
  let closePolicies: () => Promise<void>
  let policies: Policies
  let seeded: StoredPolicy
  const clients: Redis[] = []
  const replicas: Services[] = []
  const apps: FastifyInstance[] = []
  const urls: string[] = []
  let tests = 0
  /** A separate tenant for each test. */
  let tenant = ''

  beforeAll(async () => {
    if (!mongod.available) return
    redisServer = await startRedis()
    const opened = openPolicies(mongod.url, database)
    policies = opened.policies
    closePolicies = opened.close
    await Promise.all([seedPolicy(policies), seedPolicy(policies)])
    seeded = (await policies.findOne({ _id: service }))!
    for (let i = 0; i < 2; i++) {
      const redis = new Redis(redisServer.port, { retryStrategy: () => 50, maxRetriesPerRequest: 1 })
      redis.on('error', () => undefined)
      const services = await startServices({ redis, policies, premiumKeys, pollMs: 100, deadlineMs })
      const app = await sentimentService(services)
      clients.push(redis)
      replicas.push(services)
      apps.push(app)
      urls.push(await app.listen({ port: 0, host: '127.0.0.1' }))
    }
  }, 60_000)

  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()))
    await Promise.all(replicas.map((services) => services.close()))
    for (const client of clients) client.disconnect()
    await policies?.drop().catch(() => undefined)
    await closePolicies?.()
    await redisServer?.stop()
    if (mongod.available) await mongod.stop()
  })

  beforeEach(() => {
    tenant = `tenant-${tests++}`
  })

  const ask = async (body: object, { at = 0, headers = {} as Record<string, string> } = {}) => {
    const response = await fetch(`${urls[at]}/v1/analyze`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ text: 'I love it', ...body }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const statuses = async (count: number, body: object, headers: Record<string, string> = {}): Promise<number[]> => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await ask(body, { at: i % 2, headers })).status)
    return found
  }
  const metrics = async (at = 0): Promise<string> => (await fetch(`${urls[at]}/metrics`)).text()

  /** Changes the limits of a rule in MongoDB, and waits until both replicas have them. */
  const setLimits = async (limits: object, changed: object = {}, rule = 'caller'): Promise<void> => {
    const rules = seeded.rules.map((each) => {
      if (each.name === rule) return { ...each, limits, overrides: [], ...changed }
      // All requests of this test come from one address.
      return each.name === 'address' ? { ...each, limits: { rpm: 1_000_000_000 } } : each
    })
    const version = `test-${tests}-${Math.random()}`
    await policies.updateOne({ _id: service }, { $set: { rules, version }, $currentDate: { last_updated: true } })
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.version === version))
  }

  test('answers, and reports what is left in all four windows', async () => {
    const { status, headers, body } = await ask({ tenant_id: tenant, language: 'en' })
    expect([status, body]).toEqual([200, { label: 'positive', score: 1 }])
    expect(headers.get('ratelimit-policy')).toMatch(
      /caller\/rps";q=20.*caller\/rpm";q=1000.*caller\/rph";q=50000.*caller\/rpd";q=100000/,
    )
  })

  test('counts by premium key, else tenant and language, else user, else address, across replicas', async () => {
    await setLimits({ rpd: 2 })
    const full = { tenant_id: tenant, language: 'en', user_id: 'u1' }
    const premium = { 'x-api-key': 'key-of-acme' }
    expect(await statuses(3, full, premium)).toEqual([200, 200, 429])
    expect(await statuses(3, full)).toEqual([200, 200, 429])
    expect(await statuses(3, { ...full, language: 'DE' })).toEqual([200, 200, 429])
    expect(await statuses(1, { ...full, language: 'de' })).toEqual([429])
    expect(await statuses(3, { user_id: 'u1' })).toEqual([200, 200, 429])
    expect(await statuses(3, {})).toEqual([200, 200, 429])
    // A user with the name of a premium customer has separate limits, and an invented key opens no new bucket.
    expect(await statuses(1, { user_id: 'acme' })).toEqual([200])
    expect(await statuses(1, {}, { 'x-api-key': 'invented' })).toEqual([429])
  })

  test('spends from all windows or from none', async () => {
    await setLimits([{ amount: 1, per: '1h', name: 'narrow' }, { rpd: 100 }])
    expect(await statuses(5, { tenant_id: tenant })).toEqual([200, 429, 429, 429, 429])
    const { limits } = await replicas[1]!.limiter.inspect([1, tenant, 'en'], { rule: 'caller' })
    expect(limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['narrow', 0],
      ['rpd', 99],
    ])
  })

  test('has limits of their own for some', async () => {
    await setLimits({ rpd: 100 }, { overrides: [{ key: [1, tenant, 'en'], limits: { rpd: 1 } }] })
    expect(await statuses(2, { tenant_id: tenant })).toEqual([200, 429])
    expect(await statuses(2, { tenant_id: tenant, language: 'de' })).toEqual([200, 200])
  })

  test('keeps one popular document from starving the others', async () => {
    await setLimits({ rpd: 5 }, {}, 'document')
    const askedFor = (document_id: string) =>
      Promise.all(Array.from({ length: 10 }, (_, i) => ask({ user_id: `${tenant}-${i}`, document_id }, { at: i % 2 })))
    const allowed = (await askedFor(tenant)).filter(({ status }) => status === 200)
    expect(allowed).toHaveLength(5)
    expect((await ask({ user_id: `${tenant}-1`, document_id: tenant, model_version: 'v2' })).status).toBe(200)
    expect((await ask({ user_id: `${tenant}-1`, document_id: `${tenant}-other` })).status).toBe(200)
  })

  test('enforces a limit that was changed in MongoDB in all replicas, under load, without an error', async () => {
    await setLimits({ rpd: 1_000_000 })
    const seen = new Map<number, number>()
    let isRunning = true
    const load = [0, 1, 0, 1].map(async (at) => {
      while (isRunning) {
        const { status } = await ask({ tenant_id: tenant }, { at })
        seen.set(status, (seen.get(status) ?? 0) + 1)
      }
    })
    await waitFor(() => (seen.get(200) ?? 0) > 50)
    await setLimits({ rpd: 50 })
    // More than 50 are spent, so from here on every request is denied on both replicas.
    expect(await statuses(10, { tenant_id: tenant })).toEqual(Array(10).fill(429))
    await setLimits({ rpd: 1_000_000 })
    expect(await statuses(4, { tenant_id: tenant })).toEqual(Array(4).fill(200))
    isRunning = false
    await Promise.all(load)
    expect([...seen.keys()].sort()).toEqual([200, 429])
  })

  test('keeps the last good policy when MongoDB is given a bad one, and reports it', async () => {
    await setLimits({ rpd: 1 })
    const { version } = replicas[0]!.limiter.policy.status
    await policies.updateOne(
      { _id: service },
      { $set: { 'rules.0.limits': { rpx: 1 } }, $currentDate: { last_updated: true } },
    )
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError !== undefined))
    expect(await statuses(2, { tenant_id: tenant })).toEqual([200, 429])
    expect(replicas[0]!.limiter.policy.status.version).toBe(version)
    const ready = await (await fetch(`${urls[0]}/ready`)).json()
    expect(JSON.stringify(ready)).toContain('rpx')
    await setLimits({ rpd: 100 })
  })

  test('has keys that `sluice inspect` reads', async () => {
    if (!mongod.available) return
    await setLimits({ rpd: 10 })
    await statuses(3, { tenant_id: tenant, language: 'en' })
    const policy = `${mongod.url.replace('/?', `/${database}?`)}&service=${service}&collection=rate_limits`
    const key = `${service}/caller/#1/${tenant}/en`
    const args = [sluice, 'inspect', key, '--redis', redisServer.url, '--policy', policy, '--json']
    const { stdout } = await execute(process.execPath, args)
    expect(JSON.parse(stdout)).toMatchObject({ rule: 'caller', limits: [{ name: 'rpd', remaining: 7 }] })
    const stored = await redisServer.cli<string[]>('KEYS', `*${tenant}*`)
    expect(stored.some((each) => each.includes(`caller/#1/${tenant}/en`))).toBe(true)
  })

  test('keeps the last rules while MongoDB is away, and follows it again afterwards', async () => {
    if (!mongod.available || mongod.pids.length === 0) return
    await setLimits({ rpd: 2 })
    for (const pid of mongod.pids) process.kill(pid, 'SIGKILL')
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError !== undefined), {
      timeoutMs: 20_000,
    })
    expect(await statuses(3, { tenant_id: tenant })).toEqual([200, 200, 429])
    await mongod.settled()
    await setLimits({ rpd: 3 })
    expect(await statuses(2, { tenant_id: tenant })).toEqual([200, 429])
  }, 60_000)

  test('lets requests through while Redis is away, with the metric that alerts, and is exact again afterwards', async () => {
    await setLimits({ rpd: 1 })
    expect(await statuses(2, { tenant_id: tenant })).toEqual([200, 429])
    await redisServer.kill()
    expect(await statuses(6, { tenant_id: `${tenant}-b` })).toEqual(Array(6).fill(200))
    expect(await metrics()).toMatch(/sluice_decisions_total\{[^}]*degraded="true"[^}]*\} [1-9]/)
    expect(await (await fetch(`${urls[0]}/ready`)).json()).toMatchObject({ ready: true, exact: false })
    await redisServer.restart()
    await waitFor(async () => (await statuses(2, { tenant_id: `${tenant}-c` })).includes(429), { timeoutMs: 20_000 })
  }, 60_000)

  test('starts with `npm start`, and ends on a signal', async () => {
    if (!mongod.available) return
    const env = {
      ...process.env,
      PORT: '0',
      REDIS_URL: redisServer.url,
      MONGODB_URL: mongod.url,
      MONGODB_DATABASE: database,
    }
    const started = spawn(process.execPath, start.split(' ').slice(1), {
      cwd: import.meta.dirname,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise((resolve) => started.once('exit', (code, signal) => resolve(code ?? signal)))
    try {
      let printed = ''
      started.stdout.on('data', (chunk) => (printed += chunk))
      await waitFor(() => printed.includes('curl'), { timeoutMs: 20_000 })
      const [url] = /http:\S+\/v1\/analyze/.exec(printed)!
      const headers = { 'content-type': 'application/json' }
      expect((await fetch(url, { method: 'POST', headers, body: '{"text":"great"}' })).status).toBe(200)
    } finally {
      started.kill('SIGTERM')
    }
    expect(await ended).toBe(0)
  }, 60_000)

  test('has metrics that name no tenant', async () => {
    await ask({ tenant_id: tenant })
    expect(await metrics()).not.toContain(tenant)
  })
})
