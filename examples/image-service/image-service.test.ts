import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { type RedisServer, startMongod, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Policies, seedPolicy } from '../sentiment-service/src/policies.ts'
import * as sentiment from '../sentiment-service/src/services.ts'
import { imageService } from './src/app.ts'
import { type Opened, openRateLimits, type RateLimits, type Services, startServices } from './src/services.ts'
import { subjectOf } from './src/subject.ts'

const execute = promisify(execFile)
const sluice = join(import.meta.dirname, '../../packages/server/bin/sluice.js')
const sample = JSON.parse(readFileSync(join(import.meta.dirname, 'rate-limits.json'), 'utf8')) as RateLimits
const service = sample._id

const mongod = await startMongod()
if (!mongod.available) console.warn(`image-service is not tested: ${mongod.why}`)

describe('subjectOf', () => {
  const sender = { premium: undefined, tenant: 'a', model: 'v2', user: 'u', address: '192.0.2.1' }

  test.each([
    [{ ...sender, premium: 'acme' }, 'premium:acme'],
    [sender, 'tenant:a:model:v2'],
    [{ ...sender, model: undefined }, 'tenant:a:model:v1'],
    [{ ...sender, tenant: undefined }, 'user:u'],
    [{ ...sender, tenant: undefined, user: undefined }, 'ip:192.0.2.1'],
    [{ ...sender, tenant: 'a:model:v9', model: 'x' }, 'user:u'],
    [{ ...sender, tenant: ['a'], user: { id: 1 } }, 'ip:192.0.2.1'],
    [{ ...sender, tenant: '', user: '' }, 'ip:192.0.2.1'],
  ])('is premium key, else tenant and model, else user, else address: %#', (given, subject) => {
    expect(subjectOf(given)).toBe(subject)
  })
})

describe.skipIf(!mongod.available)('image-service, with two replicas beside sentiment-service', () => {
  const database = `image-${process.pid}-${Date.now()}`
  let redisServer: RedisServer
  let opened: Opened
  let rateLimits: Opened['rateLimits']
  let neighbour: sentiment.Services
  const clients: Redis[] = []
  const replicas: Services[] = []
  const servers: Server[] = []
  const urls: string[] = []
  let tests = 0
  /** A separate tenant for each test. */
  let tenant = ''

  const connect = (): Redis => {
    const redis = new Redis(redisServer.port, { retryStrategy: () => 50, maxRetriesPerRequest: 1 })
    redis.on('error', () => undefined)
    clients.push(redis)
    return redis
  }

  beforeAll(async () => {
    if (!mongod.available) return
    redisServer = await startRedis()
    opened = openRateLimits(mongod.url, database)
    rateLimits = opened.rateLimits
    // As it was written for the original service, with nothing added.
    await rateLimits.insertOne({ ...sample, last_updated: new Date(sample.last_updated) })
    const policies = rateLimits as unknown as Policies
    await seedPolicy(policies)
    neighbour = await sentiment.startServices({ redis: connect(), policies, pollMs: 100 })
    const premiumKeys = new Map([['key-of-acme', 'acme']])
    for (let i = 0; i < 2; i++) {
      const services = await startServices({ redis: connect(), rateLimits, premiumKeys, pollMs: 100, deadlineMs: 3000 })
      const server = imageService(services).listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      replicas.push(services)
      servers.push(server)
      urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    }
  }, 60_000)

  afterAll(async () => {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
    await Promise.all([neighbour, ...replicas].map((services) => services?.close()))
    for (const client of clients) client.disconnect()
    await rateLimits?.drop().catch(() => undefined)
    await opened?.close()
    await redisServer?.stop()
    if (mongod.available) await mongod.stop()
  })

  beforeEach(() => {
    tenant = `tenant-${tests++}`
  })

  const ask = async (body: object, { at = 0, headers = {} as Record<string, string> } = {}) => {
    const response = await fetch(`${urls[at]}/v1/classify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ image_url: 'https://images.example/1', ...body }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const statuses = async (count: number, body: object): Promise<number[]> => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await ask(body, { at: i % 2 })).status)
    return found
  }

  /** Changes the document as an operator does, and waits until both replicas have read it. */
  const change = async (fields: object): Promise<void> => {
    const former = replicas.map(({ limiter }) => limiter.policy.status.version)
    await rateLimits.updateOne({ _id: service }, { $set: fields, $currentDate: { last_updated: true } })
    await waitFor(() => replicas.every(({ limiter }, i) => limiter.policy.status.version !== former[i]))
  }
  const custom = (subject: string, limits: object): object => ({ [`custom_rate_limits.${subject}`]: limits })

  test('enforces the original document unchanged: custom limits for some, general ones for the rest', async () => {
    const quotas = async (body: object, headers = {}): Promise<string | null> =>
      (await ask(body, { headers })).headers.get('ratelimit-policy')
    expect(await quotas({ tenant_id: 'client-corp', model_version: 'v2' })).toBe(
      '"rpm";q=500;w=60, "rph";q=20000;w=3600, "rpd";q=250000;w=86400',
    )
    expect(await quotas({ tenant_id: 'client-corp', model_version: 'v3' })).toContain('"rps";q=20;w=1, "rpm";q=1000')
    expect(await quotas({}, { 'x-api-key': 'key-of-acme' })).toContain('"rps";q=200;w=1')
    expect(await quotas({}, { 'x-api-key': 'invented' })).toContain('"rps";q=20;w=1')
  })

  test('enforces a limit that was changed in MongoDB in all replicas, once `last_updated` changes', async () => {
    const body = { tenant_id: tenant, model_version: 'v1' }
    expect(await statuses(2, body)).toEqual([200, 200])
    await change(custom(`tenant:${tenant}:model:v1`, { rpd: 4 }))
    // The two that came before count.
    expect(await statuses(4, body)).toEqual([200, 200, 429, 429])
    expect(await statuses(1, { ...body, model_version: 'v2' })).toEqual([200])
  })

  test('does not change when the other service does, nor the other way round', async () => {
    const version = neighbour.limiter.policy.status.version
    await change(custom(`tenant:${tenant}:model:v1`, { rpd: 1 }))
    expect(neighbour.limiter.policy.status).toMatchObject({ version })
    const own = replicas[0]!.limiter.policy.status.version
    const damage = { $set: { rules: 'none' }, $currentDate: { last_updated: true } } as object
    await rateLimits.updateOne({ _id: 'sentiment-service' }, damage)
    await waitFor(() => neighbour.limiter.policy.status.lastError !== undefined)
    expect(replicas[0]!.limiter.policy.status).toMatchObject({ version: own })
    expect(replicas[0]!.limiter.policy.status.lastError).toBeUndefined()
    expect(await statuses(2, { tenant_id: tenant, model_version: 'v1' })).toEqual([200, 429])
    // The same key in the other service is another bucket.
    const { allowed } = await neighbour.limiter.peek([1, tenant, 'v1'], { rule: 'caller' })
    expect(allowed).toBe(true)
  })

  test('keeps the last good document when it is damaged', async () => {
    await change(custom(`tenant:${tenant}:model:v1`, { rpd: 1 }))
    const damaged = { $set: { general_rate_limit: { rps: -1 } }, $currentDate: { last_updated: true } } as object
    await rateLimits.updateOne({ _id: service }, damaged)
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError !== undefined))
    expect(await statuses(2, { tenant_id: tenant, model_version: 'v1' })).toEqual([200, 429])
    await change({ general_rate_limit: { ...sample.general_rate_limit, rpd: 100_001 } })
    expect(replicas[0]!.limiter.policy.status.lastError).toBeUndefined()
  })

  test('has keys that `sluice inspect` reads', async () => {
    if (!mongod.available) return
    await statuses(3, { tenant_id: tenant, model_version: 'v1' })
    const policy = `${mongod.url.replace('/?', `/${database}?`)}&service=${service}&collection=rate_limits`
    const key = `${service}/default/tenant:${tenant}:model:v1`
    const args = [sluice, 'inspect', key, '--redis', redisServer.url, '--policy', policy, '--json']
    const { limits } = JSON.parse((await execute(process.execPath, args)).stdout) as { limits: { name: string }[] }
    expect(limits.find(({ name }) => name === 'rpm')).toMatchObject({ remaining: 997 })
  })

  test('lets requests through while Redis is away, and counts it in the metric of the alert', async () => {
    await change(custom(`tenant:${tenant}:model:v1`, { rpd: 1 }))
    await redisServer.kill()
    expect(await statuses(4, { tenant_id: tenant, model_version: 'v1' })).toEqual([200, 200, 200, 200])
    const metrics = await (await fetch(`${urls[0]}/metrics`)).text()
    expect(metrics).toMatch(/sluice_decisions_total\{[^}]*degraded="true"[^}]*\} [1-9]/)
    await redisServer.restart()
    await waitFor(async () => (await statuses(2, { tenant_id: tenant, model_version: 'v1' })).includes(429), {
      timeoutMs: 20_000,
    })
  }, 60_000)

  test('keeps the last rules while MongoDB is away', async () => {
    if (!mongod.available || mongod.pids.length === 0) return
    await change(custom(`tenant:${tenant}:model:v1`, { rpd: 2 }))
    for (const pid of mongod.pids) process.kill(pid, 'SIGKILL')
    await waitFor(() => replicas.every(({ limiter }) => limiter.policy.status.lastError !== undefined), {
      timeoutMs: 20_000,
    })
    expect(await statuses(3, { tenant_id: tenant, model_version: 'v1' })).toEqual([200, 200, 429])
    await mongod.settled()
    await change(custom(`tenant:${tenant}:model:v1`, { rpd: 3 }))
    expect(await statuses(2, { tenant_id: tenant, model_version: 'v1' })).toEqual([200, 429])
  }, 60_000)
})
