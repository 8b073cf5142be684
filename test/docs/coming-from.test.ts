import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createLimiter, type Limiter, type LimiterOptions, memoryStore } from 'sluice'
import { bulkhead, createBreaker, withRetry, withTimeout } from 'sluice/breaker'
import { createEgress } from 'sluice/egress'
import { rateLimit } from 'sluice/express'
import { postgresStore } from 'sluice/postgres'
import { openRedis } from 'sluice/redis'
import { failingStore, slowStore, startPostgres, startRedis } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readPage } from './page.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function limiterOf(options: object): Promise<Limiter> {
  const limiter = await createLimiter(options as LimiterOptions)
  ends.push(() => limiter.close())
  return limiter
}
const byLimits = (limits: unknown, more: object = {}) => limiterOf({ limits, ...more })
const byRule = (rule: object, more: object = {}) =>
  limiterOf({ policy: { service: 's', rules: [{ name: 'r', ...rule }] }, ...more })
const allowed = async (limiter: Limiter, times: number, key = 'k', cost = 1): Promise<boolean[]> => {
  const found: boolean[] = []
  for (let i = 0; i < times; i++) found.push((await limiter.take(key, { cost })).allowed)
  return found
}

/** The statuses of requests to an app behind `rateLimit`, and the last response. */
async function statuses(given: unknown, options: object, paths: readonly string[], headers: object = {}) {
  const app = express()
  app.use(rateLimit(given as never, options as never))
  app.use((request, response) => {
    response.status(request.path === '/fails' ? 401 : 200).send(String(request.sluice?.limits[0]?.remaining))
  })
  const server = createServer(app)
  ends.push(() => new Promise((resolve) => server.close(resolve)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const seen: number[] = []
  let last: Response | undefined
  for (const path of paths) {
    last = await fetch(url + path, { headers: { connection: 'close', ...headers } })
    seen.push(last.status)
  }
  return { seen, last: last!, text: await last!.text() }
}
const twice = { limits: { rpd: 2 } }

async function egressOf(upstream: object, more: object = {}) {
  const egress = await createEgress({
    policy: { service: 's', upstreams: [{ name: 'vendor', limits: { rps: 1000 }, ...upstream }] },
    ...more,
  } as never)
  ends.push(() => egress.close())
  return egress
}
const fail = async (): Promise<never> => {
  throw new Error('failed')
}

let redis: Awaited<ReturnType<typeof startRedis>>
let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
})
afterAll(() => Promise.all([redis?.stop(), postgres?.stop()]))
const handle = (more: object = {}) => {
  const client = new Redis(redis.url)
  const opened = openRedis(client, { reports: false, ...more })
  ends.push(async () => {
    await opened.close()
    client.disconnect()
  })
  return opened
}

/** What the lines of a page promise, by their first cell, or by their last where several packages share a page. */
const lines: Readonly<Record<string, Readonly<Record<string, () => Promise<void>>>>> = {
  'express-rate-limit': {
    '`windowMs: 900000, limit: 100`': async () => {
      const { seen } = await statuses({ limits: { amount: 2, per: '15m' } }, {}, ['/', '/', '/'])
      expect(seen).toEqual([200, 200, 429])
    },
    '`limit: (request) => ...`': async () => {
      const rule = { key: 'headers.x-id', tier: { by: 'headers.x-plan', default: 'low' } }
      const policy = { service: 's', tiers: { low: { rpd: 1 }, high: { rpd: 9 } }, rules: [{ name: 'r', ...rule }] }
      const plan = { 'x-id': 'a', 'x-plan': 'high' }
      expect((await statuses({ policy }, {}, ['/', '/', '/'], plan)).seen).toEqual([200, 200, 200])
      expect((await statuses({ policy }, {}, ['/', '/'], { 'x-id': 'a' })).seen).toEqual([200, 429])
    },
    '`keyGenerator`': async () => {
      const key = (request: express.Request, { ip }: { ip?: string }) => request.path + ip
      expect((await statuses(twice, { key }, ['/a', '/a', '/b', '/a'])).seen).toEqual([200, 200, 200, 429])
    },
    '`skip: (request) => ...`': async () => {
      const skip = { when: (request: express.Request) => request.path === '/free' }
      expect((await statuses(twice, { skip }, ['/free', '/free', '/', '/', '/'])).seen.at(-1)).toBe(429)
      expect((await statuses(twice, { skip: { when: () => Promise.resolve(true) } }, ['/'])).seen).toEqual([500])
    },
    '`ipv6Subnet: 56`': async () => {
      const seenBy = async (identity: object) => {
        const limiter = await byRule({ key: 'ip', limits: { rpd: 2 } })
        const from = (ip: string) => statuses(limiter, { identity }, ['/'], { 'x-forwarded-for': ip })
        await from('2001:db8:0:1::1')
        await from('2001:db8:0:2::1')
        return (await from('2001:db8:0:1::2')).seen
      }
      const trustedProxies = ['127.0.0.0/8']
      expect(await seenBy({ trustedProxies, ipv6Prefix: 56 })).toEqual([429])
      expect(await seenBy({ trustedProxies })).toEqual([200])
    },
    '`skipSuccessfulRequests`, `skipFailedRequests`': async () => {
      const successful = await statuses(twice, { skipSuccessful: true }, ['/', '/', '/', '/fails', '/fails', '/fails'])
      expect(successful.seen).toEqual([200, 200, 200, 401, 401, 429])
      const failed = await statuses(twice, { skipFailed: true }, ['/fails', '/fails', '/fails', '/', '/', '/'])
      expect(failed.seen).toEqual([401, 401, 401, 200, 200, 429])
    },
    '`requestWasSuccessful`': async () => {
      const chargeWhen = ({ status }: { status: number }) => status === 401
      expect((await statuses(twice, { chargeWhen }, ['/', '/', '/', '/'])).seen).toEqual([200, 200, 200, 200])
    },
    '`handler`, `message`, `statusCode`': async () => {
      const onDenied = (_denial: unknown, { res }: { res: express.Response }) => void res.status(418).send('slow down')
      const own = await statuses({ limits: { rpd: 0 } }, { onDenied }, ['/'])
      expect([own.seen, own.text]).toEqual([[418], 'slow down'])
      const answer = { status: 503, title: 'Busy', detail: 'Come back tomorrow.' }
      const policy = { service: 's', rules: [{ name: 'r', key: 'ip', limits: { rpd: 0 }, answer }] }
      expect((await statuses({ policy }, {}, ['/'])).text).toContain('Come back tomorrow.')
    },
    '`standardHeaders`, `legacyHeaders`': async () => {
      const names = async (headers: string) => [...(await statuses(twice, { headers }, ['/'])).last.headers.keys()]
      expect(await names('draft-11')).toContain('ratelimit-policy')
      expect(await names('draft-7')).toContain('ratelimit')
      expect(await names('draft-6')).toContain('ratelimit-limit')
      expect(await names('x-ratelimit')).toContain('x-ratelimit-limit')
    },
    '`store: new RedisStore(...)`': async () => {
      const shared = { ...twice, name: 'express' }
      expect((await statuses({ ...shared, redis: handle() }, {}, ['/'])).seen).toEqual([200])
      expect((await statuses({ ...shared, redis: handle() }, {}, ['/', '/'])).seen).toEqual([200, 429])
    },
    '`prefix` of `rate-limit-redis`': async () => {
      const shared = { limits: { rpd: 1 }, name: 'prefix' }
      for (const prefix of ['shop:', 'other:'])
        expect((await statuses({ ...shared, redis: handle({ prefix }) }, {}, ['/', '/'])).seen).toEqual([200, 429])
      const client = new Redis(redis.url)
      ends.push(() => client.disconnect())
      expect(await client.keys('shop:*/prefix/*')).toHaveLength(1)
    },
    '`passOnStoreError: true`': async () => {
      const store = failingStore(memoryStore())
      expect((await statuses({ ...twice, store }, {}, ['/', '/', '/'])).seen).toEqual([200, 200, 200])
    },
    "`app.set('trust proxy', 1)`": async () => {
      const identity = { trustedProxies: ['127.0.0.0/8'] }
      const from = { 'x-forwarded-for': '192.0.2.7' }
      const limiter = await byRule({ key: 'ip', limits: { rpd: 2 } })
      await statuses(limiter, { identity }, ['/'], from)
      expect((await limiter.peek('192.0.2.7')).limits[0]!.remaining).toBe(1)
    },
    '`resetKey(key)`': async () => {
      const limiter = await byLimits({ rpd: 1 })
      expect((await statuses(limiter, {}, ['/', '/'])).seen).toEqual([200, 429])
      await limiter.reset('127.0.0.1')
      expect((await statuses(limiter, {}, ['/'])).seen).toEqual([200])
    },
    '`req.rateLimit`': async () => expect((await statuses(twice, {}, ['/'])).text).toBe('1'),
  },
  'rate-limiter-flexible': {
    '`new RateLimiterRedis({ storeClient, points, duration })`': async () =>
      expect(await allowed(await byLimits({ rpd: 2 }, { redis: handle(), name: 'flexible' }), 3)).toEqual([
        ...[true, true, false],
      ]),
    '`RateLimiterPostgres`': async () => {
      const pool = new pg.Pool({ connectionString: postgres.url })
      ends.push(() => pool.end())
      expect(await allowed(await byLimits({ rpd: 1 }, { store: await postgresStore(pool) }), 2)).toEqual([true, false])
    },
    '`keyPrefix`': async () => {
      const opened = handle()
      const [a, b] = [
        await byLimits({ rpd: 1 }, { redis: opened, name: 'a' }),
        await byLimits({ rpd: 1 }, { redis: opened, name: 'b' }),
      ]
      expect([await allowed(a, 2), await allowed(b, 2)]).toEqual([
        [true, false],
        [true, false],
      ])
    },
    '`consume(key, n)`': async () =>
      expect(await allowed(await byLimits({ rpd: 5 }), 2, 'k', 3)).toEqual([true, false]),
    '`get(key)`': async () => {
      const limiter = await byLimits({ rpd: 5 })
      await limiter.take('k')
      expect((await limiter.peek('k')).limits[0]!.remaining).toBe(4)
      expect((await limiter.inspect('k')).limits[0]!.remaining).toBe(4)
    },
    '`reward(key, n)`': async () => {
      const limiter = await byLimits({ rpd: 2 })
      await allowed(limiter, 2)
      await limiter.refund('k', { cost: 1 })
      expect(await allowed(limiter, 2)).toEqual([true, false])
    },
    '`penalty(key, n)`': async () => {
      const limiter = await byLimits({ rpd: 5 })
      await limiter.take('k', { cost: 4 })
      expect(await allowed(limiter, 2)).toEqual([true, false])
    },
    '`block(key, seconds)`': async () => {
      const limiter = await byLimits({ rpd: 5 })
      await limiter.block('k', { for: '60s' })
      expect(await allowed(limiter, 1)).toEqual([false])
      await limiter.unblock('k')
      expect(await allowed(limiter, 1)).toEqual([true])
    },
    '`blockDuration`': async () => {
      const limiter = await byRule({ limits: { rpd: 1 }, block: { after: 2, within: '1m', for: '15m' } })
      await allowed(limiter, 3)
      await limiter.refund('k', { cost: 1 })
      expect((await limiter.take('k')).reason).toBe('blocked')
    },
    '`delete(key)`': async () => {
      const limiter = await byLimits({ rpd: 1 })
      await limiter.take('k')
      await limiter.reset('k')
      expect(await allowed(limiter, 2)).toEqual([true, false])
    },
    '`RateLimiterUnion`': async () => {
      const limiter = await byLimits({ rph: 1, rpd: 5 })
      await allowed(limiter, 3)
      expect((await limiter.peek('k')).limits.find(({ name }) => name === 'rpd')!.remaining).toBe(4)
    },
    '`BurstyRateLimiter`': async () =>
      expect(await allowed(await byLimits([{ amount: 1, per: '1d', algorithm: 'gcra', burst: 3 }]), 4)).toEqual([
        ...[true, true, true, false],
      ]),
    '`RateLimiterQueue`': async () => {
      const limiter = await byLimits({ amount: 1, per: '200ms' })
      const waited = [limiter.wait('k'), limiter.wait('k')]
      expect((await Promise.all(waited)).map((each) => each.allowed)).toEqual([true, true])
    },
    '`insuranceLimiter`': async () => {
      const store = failingStore(memoryStore())
      const limiter = await byRule({ limits: { rpd: 2 }, onStoreFailure: 'local' }, { store, replicas: 1 })
      expect(await allowed(limiter, 3)).toEqual([true, true, false])
    },
    '`inMemoryBlockOnConsumed`': async () => {
      const limiter = await byLimits({ rpd: 1 }, { redis: handle(), name: 'deny-cache' })
      await allowed(limiter, 2)
      expect((await limiter.take('k')).by).toBe('deny-cache')
    },
    '`execEvenly`': async () =>
      expect(await allowed(await byLimits([{ amount: 24, per: '1d', algorithm: 'gcra', burst: 1 }]), 2)).toEqual([
        ...[true, false],
      ]),
  },
  'upstash-ratelimit': {
    "`Ratelimit.fixedWindow(10, '10 s')`": async () =>
      expect((await allowed(await byLimits({ amount: 10, per: '10d' }), 11)).filter(Boolean)).toHaveLength(10),
    "`Ratelimit.slidingWindow(10, '10 s')`": async () => {
      const limiter = await byLimits([{ amount: 10, per: '10d', algorithm: 'sliding-window' }])
      expect((await allowed(limiter, 11)).filter(Boolean)).toHaveLength(10)
    },
    "`Ratelimit.tokenBucket(5, '1 s', 10)`": async () => {
      const limiter = await byLimits([{ amount: 5, per: '1d', algorithm: 'gcra', burst: 10 }])
      expect((await allowed(limiter, 11)).filter(Boolean)).toHaveLength(10)
    },
    '`limit(id)`': async () => expect(await allowed(await byLimits({ rpd: 1 }), 2)).toEqual([true, false]),
    '`limit(id, { rate: n })`': async () =>
      expect(await allowed(await byLimits({ rpd: 5 }), 2, 'k', 3)).toEqual([true, false]),
    '`blockUntilReady(id, ms)`': async () => {
      const limiter = await byLimits({ amount: 1, per: '100ms' })
      await limiter.take('k')
      expect((await limiter.wait('k', { maxWait: '20s' })).allowed).toBe(true)
    },
    '`getRemaining(id)`': async () => {
      const limiter = await byLimits({ rpd: 5 })
      expect([await limiter.peek('k'), await limiter.peek('k')].map(({ limits }) => limits[0]!.remaining)).toEqual([
        5, 5,
      ])
    },
    '`resetUsedTokens(id)`': async () => {
      const limiter = await byLimits({ rpd: 1 })
      await limiter.take('k')
      await limiter.reset('k')
      expect((await limiter.take('k')).allowed).toBe(true)
    },
    '`ephemeralCache`': async () => {
      const limiter = await byLimits({ rpd: 1 }, { redis: handle(), name: 'ephemeral' })
      await allowed(limiter, 2)
      expect((await limiter.take('k')).by).toBe('deny-cache')
    },
    '`timeout`': async () => {
      const store = slowStore(memoryStore(), 500)
      const limiter = await byLimits({ rpd: 1 }, { store, deadline: '50ms' })
      expect(await limiter.take('k')).toMatchObject({ allowed: true, degraded: true })
    },
    '`analytics`': async () => {
      const limiter = await byLimits({ rpd: 1 })
      limiter.stats()
      await allowed(limiter, 2)
      expect(limiter.stats().decisions).toMatchObject({ allowed: 1, denied: 1 })
      expect(limiter.stats().rules[0]!.mostDenied).toMatchObject([{ key: expect.stringContaining('/k'), count: 1 }])
    },
    'deny lists': async () => {
      const overrides = [{ key: 'bad-*', limits: 'deny' }]
      const limiter = await byRule({ limits: { rpd: 5 }, overrides })
      expect([(await limiter.take('bad-1')).reason, (await limiter.take('good')).reason]).toEqual([
        ...['forbidden', 'allowed'],
      ])
    },
  },
  bottleneck: {
    '`schedule(fn)`': async () => expect(await (await egressOf({})).run('vendor', async () => 7)).toBe(7),
    '`wrap(fn)`': async () => {
      const egress = await egressOf({})
      const double = (n: number) => egress.run('vendor', async () => 2 * n)
      expect(await double(4)).toBe(8)
    },
    '`reservoir`, refreshed each second': async () => {
      const egress = await egressOf({ limits: { amount: 2, per: '1h' } })
      const run = () => egress.run('vendor', async () => 1, { maxWait: '50ms' })
      expect([await run(), await run()]).toEqual([1, 1])
      await expect(run()).rejects.toMatchObject({ name: 'RefusedError' })
    },
    '`maxConcurrent`': async () => {
      const egress = await egressOf({ concurrency: 2 })
      let [running, most] = [0, 0]
      const job = async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
      }
      await Promise.all(Array.from({ length: 10 }, () => egress.run('vendor', job)))
      expect(most).toBe(2)
    },
    '`minTime: 200`': async () =>
      expect(await allowed(await byLimits([{ amount: 5, per: '1d', algorithm: 'gcra', burst: 1 }]), 2)).toEqual([
        ...[true, false],
      ]),
    '`priority`': async () => {
      const egress = await egressOf({ concurrency: 1 })
      const order: string[] = []
      let end = (): void => {}
      const first = egress.run('vendor', () => new Promise<void>((resolve) => (end = resolve)))
      await expect.poll(() => egress.stats()[0]!.inFlight).toBe(1)
      const usual = egress.run('vendor', async () => void order.push('usual'))
      const urgent = egress.run('vendor', async () => void order.push('urgent'), { priority: 60_000 })
      await expect.poll(() => egress.stats()[0]!.depth).toBe(2)
      end()
      await Promise.all([first, usual, urgent])
      expect(order).toEqual(['urgent', 'usual'])
    },
    '`highWater`': async () => {
      const egress = await egressOf({ limits: { amount: 1, per: '1h' }, maxQueue: 1 })
      await egress.run('vendor', async () => 1)
      const [, refused] = await Promise.allSettled([
        egress.run('vendor', async () => 1, { maxWait: '100ms' }),
        egress.run('vendor', async () => 1, { maxWait: '100ms' }),
      ])
      expect(refused.status).toBe('rejected')
    },
    '`expiration`': async () => {
      const egress = await egressOf({ timeout: '50ms' })
      await expect(egress.run('vendor', () => new Promise(() => {}))).rejects.toThrow(/50|time/i)
    },
    '`Group`': async () => {
      const limiter = await byLimits({ rpd: 1 })
      const waits = ['a', 'b'].map((key) => limiter.wait(key, { maxWait: '1s' }))
      expect((await Promise.all(waits)).map((each) => each.allowed)).toEqual([true, true])
    },
    "`datastore: 'ioredis'`": async () => {
      const egress = await egressOf({}, { redis: handle() })
      expect(await egress.run('vendor', async () => 3, { maxWait: '20s' })).toBe(3)
    },
    '`retryCount` and the event `failed`': async () => {
      const egress = await egressOf({})
      let tries = 0
      const job = async () => {
        tries += 1
        if (tries < 2) throw new Error('once')
        return tries
      }
      expect(await egress.run('vendor', job, { attempts: 3 })).toBe(2)
    },
  },
  'opossum-and-cockatiel': {
    '`failureRate: { ratio, window, minCalls }`': async () => {
      const breaker = createBreaker({ failureRate: { ratio: 0.5, window: '1h', minCalls: 2 } })
      for (let i = 0; i < 2; i++) await breaker.run(fail).catch(() => {})
      expect(breaker.stats().state).toBe('open')
    },
    '`failures: 5`': async () => {
      const breaker = createBreaker({ failures: 2 })
      for (let i = 0; i < 2; i++) await breaker.run(fail).catch(() => {})
      await expect(breaker.run(async () => 1)).rejects.toMatchObject({ name: 'BreakerOpenError' })
    },
    '`cooldown`': async () => {
      const breaker = createBreaker({ failures: 1, cooldown: '20ms', cooldownJitter: 0 })
      await breaker.run(fail).catch(() => {})
      await expect.poll(() => breaker.run(async () => 5).catch(() => 'open')).toBe(5)
    },
    '`maxCooldown`': async () => {
      expect(() => createBreaker({ cooldown: '1s', maxCooldown: '1m' })).not.toThrow()
      expect(() => createBreaker({ cooldown: '1m', maxCooldown: '1s' })).toThrow('maxCooldown')
    },
    "`withTimeout('1s')`": async () =>
      expect(withTimeout('20ms')(() => new Promise(() => {}))()).rejects.toMatchObject({ name: 'TimeoutError' }),
    '`withRetry({ attempts })`, with a budget': async () => {
      let tries = 0
      const call = withRetry({ attempts: 3 })(async () => {
        tries += 1
        if (tries < 2) throw new Error('once')
        return tries
      })
      expect(await call()).toBe(2)
    },
    '`bulkhead(10)`': async () => {
      const hang = bulkhead(1, { queue: 0 })(() => new Promise(() => {}))
      void hang()
      await expect(hang()).rejects.toThrow()
    },
    '`{ fallback }` of `run`': async () =>
      expect(await createBreaker({ failures: 1 }).run(fail, { fallback: () => 9 })).toBe(9),
    '`isFailure`, `isFailedResult`': async () => {
      const breaker = createBreaker({
        failures: 1,
        isFailure: () => false,
        isFailedResult: (result) => result === 'bad',
      })
      await breaker.run(fail).catch(() => {})
      expect(breaker.stats().state).toBe('closed')
      await breaker.run(async () => 'bad')
      expect(breaker.stats().state).toBe('open')
    },
    '`isolate()`, `restore()`': async () => {
      const breaker = createBreaker({})
      breaker.isolate()
      await expect(breaker.run(async () => 1)).rejects.toThrow()
      breaker.restore()
      expect(await breaker.run(async () => 1)).toBe(1)
    },
    '`save()`, `saved`': async () => {
      const breaker = createBreaker({ failures: 1, cooldown: '1h' })
      await breaker.run(fail).catch(() => {})
      expect(createBreaker({ failures: 1, cooldown: '1h', saved: breaker.save() }).stats().state).toBe('open')
    },
    "`on('stateChanged', ...)`": async () => {
      const breaker = createBreaker({ failures: 1 })
      const seen: string[] = []
      breaker.on('stateChanged', ({ state }: { state: string }) => seen.push(state))
      await breaker.run(fail).catch(() => {})
      expect(seen).toEqual(['open'])
    },
  },
}

describe.each(Object.entries(lines))('coming from %s', (page, tests) => {
  const rows = readPage(`docs/coming-from/${page}.md`)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '))
  const nameOf = (cells: readonly string[]): string => (cells.length > 2 ? cells.at(-1)! : cells[0]!)

  it('every line of the table has a test here, and no other', () => {
    expect(Object.keys(tests).sort()).toEqual(rows.map(nameOf).sort())
  })

  it.each(Object.keys(tests))('%s', async (name) => tests[name]!())
})
