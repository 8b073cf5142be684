import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createLimiter, memoryStore } from 'sluice'
import { openRedis } from 'sluice/redis'
import { daemonReports, partReport, type ReceivedReport, startReports } from 'sluice/reports'
import { startRedis } from 'sluice/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { hold } from '../../testing/held-to-description.ts'
import { adminToken, send, startDaemon } from '../../testing/started.ts'
import { fleetStats } from './fleet.ts'

const limiter = (allowed: number, second: number, key: string, error = 0) => ({
  kind: 'limiter',
  name: '',
  stats: {
    policy: { version: '1', source: 'file', ageMs: 1, lastError: null },
    breaker: 'closed',
    decisions: { allowed, denied: 1, degraded: 0 },
    recent: Array.from({ length: 60 }, (_, i) => (i === second ? [allowed, 1, 0] : [0, 0, 0])),
    rules: [{ rule: 'r', allowed, denied: 1, degraded: 0, hottest: [{ key, count: allowed, error }], mostDenied: [] }],
    recounts: [{ rule: 'r', allowed: 1, denied: 2, failed: 3, raised: 4 }],
    hotKeysOverMs: 120_000,
  },
})
const received = (replica: string, ageMs: number, ...sections: object[]): ReceivedReport =>
  ({
    ageMs,
    report: { v: 1, service: 's', replica, host: 'h', pid: 1, startedAt: 0, sections, omitted: [] },
  }) as never

describe('a fleet', () => {
  test('is the sum of its reports; seconds and keys of the same name meet', () => {
    const reports = [
      received('a', 0, limiter(3, 59, 's/r/x')),
      received('b', 2000, limiter(4, 59, 's/r/x', 1), { kind: 'cache', name: 'prices', stats: { hits: 1 } }),
    ]
    const { decisions, recent, rules, recounts, replicas } = fleetStats(reports, 10, 90_000)
    expect(recounts).toEqual([{ rule: 'r', allowed: 2, denied: 4, failed: 6, raised: 8 }])
    expect(decisions).toEqual({ allowed: 7, denied: 2, degraded: 0 })
    expect(recent[59]).toEqual({ allowed: 3, denied: 1, degraded: 0 })
    expect(recent[57], 'a report of two seconds ago is moved by as much').toEqual({
      allowed: 4,
      denied: 1,
      degraded: 0,
    })
    expect(rules).toEqual([
      {
        rule: 'r',
        shadow: { allowed: 0, denied: 0 },
        keysOverMs: 0,
        allowed: 7,
        denied: 2,
        degraded: 0,
        hottest: [{ key: 's/r/x', count: 7, error: 1 }],
        mostDenied: [],
      },
    ])
    expect(replicas.map(({ replica, uptimeSeconds }) => [replica, uptimeSeconds])).toEqual([
      ['a', 90],
      ['b', 90],
    ])
    expect(replicas[1]!.parts[1]).toEqual({ kind: 'cache', name: 'prices', stats: { hits: 1 }, actions: [] })
  })

  test.each([
    null,
    7,
    {},
    { decisions: {} },
    { ...limiter(1, 1, 'k').stats, rules: [{}] },
    { ...limiter(1, 1, 'k').stats, recent: [['x']] },
    { ...limiter(1, 1, 'k').stats, latency: 'many' },
    { ...limiter(1, 1, 'k').stats, latency: [1, '2'] },
    { ...limiter(1, 1, 'k').stats, second: 'now' },
    {
      ...limiter(1, 1, 'k').stats,
      rules: [{ ...limiter(1, 1, 'k').stats.rules[0], shadow: { allowed: 'x', denied: 0 } }],
    },
  ])('a limiter of another version that says %j is shown and not added up', (stats) => {
    const found = fleetStats([received('a', 0, { kind: 'limiter', name: '', stats })], 10, 0)
    expect(found.decisions).toEqual({ allowed: 0, denied: 0, degraded: 0 })
    expect(found.replicas).toHaveLength(1)
  })
})

describe('what a daemon shows', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fleet-'))
  const file = join(folder, 'sluice.yaml')
  writeFileSync(file, 'service: shop\nrules: [{ name: r, limits: { rpd: 100 } }]\n')
  afterAll(() => rmSync(folder, { recursive: true }))
  type Stats = {
    decisions: { allowed: number; denied: number }
    replicas: { parts: { kind: string }[] }[]
    complete: boolean
  }
  const statsOf = async (url: string): Promise<Stats> => {
    const answer = await send(`${url}/v1/stats`, 'GET')
    hold('GET', '/v1/stats', undefined, answer)
    return answer.body
  }
  const check = (url: string) => send(`${url}/v1/check`, 'POST', { key: 'k', rule: 'r' })

  test('lists the services that report to its Redis or to itself, and shows each', async () => {
    const redis = await startRedis()
    const daemon = await startDaemon({ policy: file, redis: redis.url })
    const client = new Redis(redis.url)
    const orders = openRedis(client, { service: 'orders' })
    const limiter = await createLimiter({ limits: { rpd: 2 }, redis: orders })
    const services = async (): Promise<object> => {
      const answer = await send(`${daemon.url}/v1/services`, 'GET')
      hold('GET', '/v1/services', undefined, answer)
      return answer.body
    }
    for (let i = 0; i < 3; i++) await limiter.take('acme')
    const posted = { ...received('r', 0).report, service: 'a/b ?c=1 <i>' }
    expect((await send(`${daemon.url}/v1/reports`, 'POST', posted)).status).toBe(200)
    await expect
      .poll(services)
      .toEqual({ service: 'shop', services: ['a/b ?c=1 <i>', 'orders', 'shop'], complete: true })
    const ofOrders = await send(`${daemon.url}/v1/stats?service=orders`, 'GET')
    hold('GET', '/v1/stats', undefined, ofOrders)
    expect(ofOrders.body).toMatchObject({
      service: 'orders',
      decisions: { allowed: 2, denied: 1 },
      rules: [{ mostDenied: [{ key: 'orders/default/acme', count: 1, error: 0 }] }],
    })
    const odd = await send(`${daemon.url}/v1/stats?service=${encodeURIComponent('a/b ?c=1 <i>')}`, 'GET')
    expect(odd.body).toMatchObject({ replicas: [{ host: 'h', parts: [] }] })
    await limiter.close()
    client.disconnect()
    await redis.stop()
    await expect.poll(services).toMatchObject({ services: ['a/b ?c=1 <i>', 'shop'], complete: false })
    await daemon.close()
  })

  test('is the whole fleet on Redis, and itself while Redis is away', async () => {
    const redis = await startRedis()
    const [a, b] = await Promise.all([
      startDaemon({ policy: file, redis: redis.url }),
      startDaemon({ policy: file, redis: redis.url }),
    ])
    for (const { url } of [a, a, b]) await check(url)
    await expect.poll(async () => (await statsOf(a.url)).decisions.allowed).toBe(3)
    await send(`${b.url}/v1/check`, 'POST', { key: 'greedy', cost: 1000 })
    const denialsOf = async (url: string, after = ''): Promise<{ denials: object[]; next: string }> => {
      const answer = await send(`${url}/v1/denials?after=${after}`, 'GET')
      hold('GET', '/v1/denials', undefined, answer)
      return answer.body
    }
    await expect
      .poll(async () => (await denialsOf(a.url)).denials)
      .toMatchObject([{ rule: 'r', key: 'shop/r/greedy', reason: 'quota', cost: 1000, replica: expect.any(String) }])
    // The process reports it again and again; it is listed once, and not again to whoever has seen it.
    const { next } = await denialsOf(a.url)
    await expect.poll(async () => (await statsOf(a.url)).decisions.denied).toBe(1)
    expect(await denialsOf(a.url)).toMatchObject({ denials: [{ key: 'shop/r/greedy' }], next })
    expect((await denialsOf(a.url, next)).denials).toEqual([])
    expect((await denialsOf(b.url)).denials).toMatchObject([{ key: 'shop/r/greedy', replica: null }])
    // Whoever wants fewer than came is told how many are not listed.
    for (let i = 0; i < 3; i++) await send(`${b.url}/v1/check`, 'POST', { key: 'greedy', cost: 1000 })
    const seen = (await denialsOf(b.url)).next.replace(/\d+$/, '1')
    expect(await denialsOf(b.url, `${seen}&limit=1`)).toMatchObject({ denials: [{}], missed: 2 })
    expect((await statsOf(b.url)).replicas).toHaveLength(2)
    await b.close()
    expect((await statsOf(a.url)).replicas).toHaveLength(1)
    await redis.stop()
    await expect.poll(async () => (await statsOf(a.url)).complete).toBe(false)
    await a.close()
  })

  test('has each denial of two limiters of a process once, also when the first of them is closed', async () => {
    const daemon = await startDaemon({ policy: file })
    const limits = { policy: { service: 'shop', rules: [{ name: 'r', limits: { rpd: 1 } }] } }
    const [first, second] = [await createLimiter(limits), await createLimiter(limits)]
    const deny = async (limiter: typeof first, ...keys: string[]): Promise<void> => {
      limiter.stats()
      for (const key of keys) await limiter.take(key, { cost: 2 })
    }
    const reports = startReports({
      service: 'shop',
      to: daemonReports(daemon.url, { token: adminToken }),
      parts: [],
    })
    const removeFirst = reports.add(partReport('limiter', first))
    reports.add(partReport('limiter', second))
    const keys = async (): Promise<string[]> => {
      await reports.send()
      const { body } = await send(`${daemon.url}/v1/denials`, 'GET')
      return (body as { denials: { key: string }[] }).denials.map(({ key }) => key.slice('shop/r/'.length)).sort()
    }
    await deny(first, 'a1', 'a2')
    await deny(second, 'b1')
    await expect.poll(keys, { timeout: 10_000 }).toEqual(['a1', 'a2', 'b1'])
    removeFirst()
    await deny(second, 'b2')
    await expect.poll(keys, { timeout: 10_000 }).toEqual(['a1', 'a2', 'b1', 'b2'])
    await reports.close()
    await Promise.all([first.close(), second.close(), daemon.close()])
  })

  test('has what processes without Redis report to it, and wants a token for that', async () => {
    const daemon = await startDaemon({ policy: file })
    const service = await createLimiter({
      policy: { service: 'shop', rules: [{ name: 'r', limits: { rpd: 9 } }] },
      store: memoryStore(),
    })
    service.stats()
    for (let i = 0; i < 4; i++) await service.take('k')
    const reports = startReports({
      service: 'shop',
      to: daemonReports(daemon.url, { token: adminToken }),
      parts: [partReport('limiter', service), partReport('cache', { stats: () => ({ hits: 3 }) }, 'prices')],
    })
    await reports.send()
    await check(daemon.url)
    const stats = await statsOf(daemon.url)
    expect(stats.decisions.allowed).toBe(5)
    expect(stats.replicas.flatMap(({ parts }) => parts.map(({ kind }) => kind)).sort()).toEqual([
      'cache',
      'limiter',
      'limiter',
    ])
    await reports.close()
    expect((await statsOf(daemon.url)).replicas).toHaveLength(1)

    const refused = startReports({
      service: 'shop',
      to: daemonReports(daemon.url, { token: 'not-the-token' }),
      parts: [],
    })
    const why = await new Promise<Error>((resolve) => refused.on('failed', ({ error }) => resolve(error)))
    expect(why).toMatchObject({
      code: 'SLUICE_REPORT_FAILED',
      transient: false,
      message: expect.stringContaining('401'),
    })
    await refused.close()
    await service.close()
    await daemon.close()
  })

  test.each([
    ['no report', '{}', 400],
    ['another version', JSON.stringify({ v: 2, service: 's', replica: 'r' }), 400],
    ['too large', 'x'.repeat(70_000), 413],
  ])('refuses %s', async (_, body, status) => {
    const daemon = await startDaemon({ policy: file })
    const answer = await send(`${daemon.url}/v1/reports`, 'POST', body)
    hold('POST', '/v1/reports', body, answer)
    expect(answer.status).toBe(status)
    await daemon.close()
  })
})
