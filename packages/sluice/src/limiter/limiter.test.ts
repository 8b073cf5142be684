import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeKey } from '../core/key.ts'
import type { PolicyDocument, RuleSpec } from '../policy/document/document.ts'
import type { SourceListener } from '../policy/live/source.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { openRedis } from '../stores/redis/index.ts'
import type { Store } from '../stores/store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { startRedis } from '../testing/servers/redis.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'

const upload = { key: 'const:all', match: { path: '/upload' } }
const policy: PolicyDocument = {
  service: 'api',
  version: 'v1',
  rules: [
    { name: 'windows', limits: { rps: 5, rpm: 8 } },
    { name: 'flight', limits: { amount: 2, algorithm: 'concurrency' } },
    { name: 'tokens', limits: { amount: 100, per: '1h', name: 'hourly' } },
    { name: 'route', key: 'headers.x-user', match: { path: '/r' }, limits: { rpm: 2 }, onMissing: 'deny' },
    { name: 'route-all', key: 'const:all', match: { path: '/r' }, limits: { rpm: 3 } },
    { name: 'watched', key: 'const:all', match: { path: '/r' }, limits: { rpm: 1 }, mode: 'shadow' },
    { ...upload, name: 'upload', limits: { amount: 1, algorithm: 'concurrency' } },
    { ...upload, name: 'upload-rpm', limits: { rpm: 5 } },
    { ...upload, name: 'upload-watched', limits: { amount: 9, algorithm: 'concurrency' }, mode: 'shadow' },
  ],
}
const request = (user?: string) => ({
  method: 'GET',
  path: '/r',
  headers: user === undefined ? {} : { 'x-user': user },
})

const stores = {
  memory: async () => ({ at: { store: memoryStore() as Store }, stop: async () => {} }),
  redis: async () => {
    const server = await startRedis()
    const client = new Redis(server.port)
    return {
      at: { redis: openRedis(client) },
      stop: async () => {
        client.disconnect()
        await server.stop()
      },
    }
  },
}

describe.each(Object.entries(stores))('a limiter on %s', (_, start) => {
  let limiter: Limiter
  let stop: () => Promise<void>

  beforeAll(async () => {
    const started = await start()
    stop = started.stop
    limiter = await createLimiter({ policy, ...started.at })
  })
  afterAll(async () => {
    await limiter.close()
    await stop()
  })

  it('spends all limits of a rule or none', async () => {
    const decisions = await Promise.all(Array.from({ length: 7 }, () => limiter.take('a', { rule: 'windows' })))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false, false])
    expect(decisions[6]).toMatchObject({ reason: 'quota', rule: 'windows', degraded: false, policyVersion: 'v1' })
    const [rps, rpm] = decisions[6]!.limits
    expect(rps).toMatchObject({ name: 'rps', amount: 5, remaining: 0, windowMs: 1000 })
    expect(rpm).toMatchObject({ name: 'rpm', amount: 8, remaining: 3, retryAfterMs: 0 })
    expect(decisions[6]!.retryAfterMs).toBe(rps!.retryAfterMs)
  })

  it('peeks without spending, in the shape of a decision', async () => {
    await limiter.take('p', { rule: 'windows', cost: 2 })
    const peeks = [await limiter.peek('p', { rule: 'windows' }), await limiter.peek('p', { rule: 'windows' })]
    expect(peeks.map(({ limits }) => limits[0]!.remaining)).toEqual([3, 3])
    expect(Object.keys(peeks[0]!.limits[0]!)).toEqual(
      expect.arrayContaining(['name', 'amount', 'remaining', 'resetMs', 'retryAfterMs']),
    )
  })

  it('says that a cost above the amount can never pass', async () => {
    const decision = await limiter.take('n', { rule: 'tokens', cost: 101 })
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: Infinity })
    expect((await limiter.peek('n', { rule: 'tokens' })).limits[0]!.remaining).toBe(100)
  })

  it('takes a small cost after it has denied a large one', async () => {
    await limiter.take('s', { rule: 'tokens', cost: 95 })
    expect((await limiter.take('s', { rule: 'tokens', cost: 10 })).allowed).toBe(false)
    expect((await limiter.take('s', { rule: 'tokens', cost: 5 })).allowed).toBe(true)
    expect((await limiter.take('s', { rule: 'tokens', cost: 1 })).allowed).toBe(false)
  })

  it.each([
    ['a tuple', ['a', 'b']],
    ['a number', [1]],
    ['a boolean', [true]],
    ['a text with a slash', 'x/y'],
    ['a long text', 'long'.repeat(100)],
  ])('does not take the text that spells %s for it', async (_name, key) => {
    const alike = encodeKey(key)
    for (const allowed of [true, false, false])
      expect((await limiter.take(key, { rule: 'tokens', cost: 60 })).allowed).toBe(allowed)
    for (const allowed of [true, false, false])
      expect((await limiter.take(alike, { rule: 'tokens', cost: 60 })).allowed).toBe(allowed)
    expect((await limiter.peek(key, { rule: 'tokens' })).limits[0]!.remaining).toBe(40)
  })

  it('settles a reservation once, for what it really cost', async () => {
    const hold = await limiter.reserve('h', { rule: 'tokens', cost: 60, id: 'job-1' })
    const again = await limiter.reserve('h', { rule: 'tokens', cost: 60, id: 'job-1' })
    expect([hold.allowed, again.allowed]).toEqual([true, true])
    expect((await limiter.inspect('h', { rule: 'tokens' })).holds).toMatchObject([{ id: 'job-1', cost: 60 }])
    expect([await hold.settle(20), await hold.settle(20), await again.cancel()]).toEqual([true, false, false])
    expect((await limiter.peek('h', { rule: 'tokens' })).limits[0]!.remaining).toBe(80)
  })

  it('lets another process settle by id', async () => {
    await limiter.reserve('o', { rule: 'tokens', cost: 50, id: 'job-2' })
    expect(await limiter.settle('o', 'job-2', 10, { rule: 'tokens' })).toBe(true)
    expect((await limiter.peek('o', { rule: 'tokens' })).limits[0]!.remaining).toBe(90)
  })

  it('counts what is in flight and gives places back', async () => {
    const [a, b, c] = await Promise.all([1, 2, 3].map(() => limiter.acquire('f', { rule: 'flight' })))
    expect([a!.allowed, b!.allowed, c!.allowed]).toEqual([true, true, false])
    expect(await a!.extend(60_000)).toBe(true)
    expect(await a!.release()).toBe(true)
    expect((await limiter.acquire('f', { rule: 'flight' })).allowed).toBe(true)
  })

  it('takes and checks without occupying a place, and denies when none is free', async () => {
    for (let i = 0; i < 5; i++) expect((await limiter.take('g', { rule: 'flight' })).allowed).toBe(true)
    const holds = [await limiter.acquire('g', { rule: 'flight' }), await limiter.acquire('g', { rule: 'flight' })]
    expect(await limiter.take('g', { rule: 'flight' })).toMatchObject({ allowed: false, rule: 'flight' })
    await holds[0]!.release()
    const denied = await Promise.all([1, 2, 3].map(() => limiter.take('g', { rule: 'flight' })))
    expect(denied.map(({ allowed }) => allowed)).toEqual([true, true, true])
    await holds[1]!.release()
  })

  it('admits with a hold where a rule counts what is in flight, and without one elsewhere', async () => {
    const upload = { method: 'GET', path: '/upload', headers: {} }
    const [a, b] = [await limiter.admit(upload), await limiter.admit(upload)]
    expect([a.decision.allowed, a.hold?.allowed, b.decision.allowed, b.hold]).toEqual([true, true, false, undefined])
    expect(b.decision.rule).toBe('upload')
    expect(await limiter.check(upload)).toMatchObject({ allowed: false, rule: 'upload' })
    expect(await a.hold!.release()).toBe(true)
    // What the windows counted stays spent; a denial spent nothing.
    expect((await limiter.check(upload)).limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['concurrency', 1],
      ['rpm', 3],
    ])
    expect(await limiter.admit({ ...upload, path: '/other' })).toMatchObject({ hold: undefined })
    expect(await limiter.admit('k', { rule: 'tokens' })).toMatchObject({ decision: { allowed: true }, hold: undefined })
    const place = await limiter.admit('k', { rule: 'flight', id: 'mine' })
    expect([place.hold?.id, await place.hold?.release()]).toEqual(['mine', true])
  })

  it('frees the places of shadow rules too', async () => {
    const peek = async () => (await limiter.inspect('all', { rule: 'upload-watched' })).holds.length
    const upload = { method: 'GET', path: '/upload', headers: {} }
    const { hold } = await limiter.admit(upload)
    await limiter.admit(upload)
    expect(await peek()).toBe(1)
    await hold!.release()
    expect(await peek()).toBe(0)
  })

  it('refunds and resets, at once also where it had denied', async () => {
    await limiter.take('x', { rule: 'tokens', cost: 100 })
    expect((await limiter.take('x', { rule: 'tokens' })).allowed).toBe(false)
    await limiter.refund('x', { rule: 'tokens', cost: 1 })
    expect((await limiter.take('x', { rule: 'tokens' })).allowed).toBe(true)
    expect((await limiter.take('x', { rule: 'tokens' })).allowed).toBe(false)
    await limiter.reset('x', { rule: 'tokens' })
    expect((await limiter.take('x', { rule: 'tokens' })).limits[0]!.remaining).toBe(99)
  })

  it('decides on a request by all rules that match, all or nothing; shadow rules only watch', async () => {
    const [first, second, third, fourth, fifth] = [
      await limiter.check(request('u')),
      await limiter.check(request('u')),
      await limiter.check(request('u')),
      await limiter.check(request('v')),
      await limiter.check(request('w')),
    ]
    expect([first, second, third, fourth, fifth].map((decision) => decision!.allowed)).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
    expect([third!.rule, fifth!.rule]).toEqual(['route', 'route-all'])
    expect(first!.shadow).toMatchObject([{ rule: 'watched', allowed: true }])
    expect(second!.shadow).toMatchObject([{ rule: 'watched', allowed: false }])
    expect(await limiter.check(request())).toMatchObject({ allowed: false, reason: 'missing-key', rule: 'route' })
    expect(await limiter.check({ method: 'GET', path: '/other', headers: {} })).toMatchObject({
      allowed: true,
      rule: undefined,
    })
  })

  it('explains without spending', async () => {
    const explained = await limiter.explain(request('e'))
    expect(explained.rules.map(({ rule, matched }) => [rule, matched])).toEqual([
      ['windows', false],
      ['flight', false],
      ['tokens', false],
      ['route', true],
      ['route-all', true],
      ['watched', true],
      ['upload', false],
      ['upload-rpm', false],
      ['upload-watched', false],
    ])
    expect(explained.rules[3]).toMatchObject({ key: 'api/route/e', limits: [{ remaining: 2 }] })
    expect(explained.decision).toMatchObject({ allowed: false, rule: 'route-all' })
  })

  it('announces decisions while somebody listens', async () => {
    const seen: string[][] = []
    const stopListening = limiter.on('decided', ({ subjects }) => seen.push([...subjects]))
    await limiter.take(['t', 'en'], { rule: 'tokens' })
    for (const cost of [60, 60, 60]) await limiter.take('plain', { rule: 'tokens', cost })
    stopListening()
    await limiter.take(['t', 'en'], { rule: 'tokens' })
    expect(seen.flat()).toEqual(['api/tokens/t/en', 'api/tokens/plain', 'api/tokens/plain', 'api/tokens/plain'])
  })

  it('is healthy, and tells its policy', async () => {
    expect(await limiter.health()).toMatchObject({
      ready: true,
      store: { reachable: true, breaker: 'closed' },
      policy: { version: 'v1' },
    })
    expect(limiter.policy).toMatchObject({ service: 'api', readsBody: false })
  })
})

it('does not tell of an outage once the store answers, also when nobody asked for a decision since', async () => {
  const clock = virtualClock()
  const store = switchedStore(memoryStore())
  let reachable = true
  const health = async (withinMs: number) => ({ ...(await memoryStore().health(withinMs)), reachable })
  const limiter = await createLimiter({ limits: { rpm: 9 }, store: { ...store, health }, clock, replicas: 1 })
  store.failing = 'timeout'
  reachable = false
  await limiter.take('a')
  clock.tick('3s')
  expect((await limiter.health()).store).toMatchObject({ reachable: false, lastContactMs: 3000 })
  reachable = true
  // One answer counts for a second, for all who ask.
  clock.tick('1s')
  expect((await limiter.health()).store).toMatchObject({ reachable: true, lastContactMs: 0 })
  await limiter.close()
})

it('tells of an outage from the first decision that failed, also when health was asked a moment before', async () => {
  const clock = virtualClock()
  const store = switchedStore(memoryStore())
  let reachable = true
  const health = async (withinMs: number) => ({ ...(await memoryStore().health(withinMs)), reachable })
  const limiter = await createLimiter({ limits: { rpm: 9 }, store: { ...store, health }, clock, replicas: 1 })
  expect(await limiter.health()).toMatchObject({ ready: true })
  clock.tick('100ms')
  store.failing = 'timeout'
  reachable = false
  await limiter.take('a')
  clock.tick('1ms')
  expect(await limiter.health()).toMatchObject({ ready: false })
  await limiter.close()
})

it('is not well once it is closed, and does not ask the store any more', async () => {
  let asked = 0
  const store = memoryStore()
  const health = (withinMs: number) => {
    asked++
    return store.health(withinMs)
  }
  const limiter = await createLimiter({ limits: { rpm: 9 }, store: { ...switchedStore(store), health } })
  expect(await limiter.health()).toMatchObject({ ready: true, reasons: [] })
  await limiter.close()
  expect(await limiter.health()).toMatchObject({
    ready: false,
    reasons: ['The limiter is closed.'],
    store: { reachable: false },
    policy: { version: expect.any(String) },
    warnings: [],
  })
  expect(asked).toBe(1)
})

describe('wrong use', () => {
  it('fails early and says what would be right', async () => {
    const limiter = await createLimiter({ policy })
    await expect(limiter.take('a')).rejects.toThrow(/9 rules; name one/)
    await expect(limiter.take('a', { rule: 'none' })).rejects.toThrow(/no rule "none"; it has windows/)
    for (const cost of [-1, 0.1, Number.NaN, Infinity, 1e308, 2 ** 53 + 1, '5']) {
      await expect(limiter.take('a', { rule: 'tokens', cost: cost as number })).rejects.toMatchObject({
        code: 'SLUICE_INVALID_COST',
      })
    }
    for (const key of [undefined, null, Number.NaN, {}, [], [undefined], [{}], ['a', null]]) {
      await expect(limiter.take(key as never, { rule: 'tokens' })).rejects.toMatchObject({ code: 'SLUICE_INVALID_KEY' })
    }
    await expect(limiter.take(42 as never, { rule: 'tokens' })).rejects.toThrow(
      /key is 42; use \[42\], as adapters do .* "42"/,
    )
    await expect(limiter.reserve('a', { rule: 'tokens', ttl: 0 })).rejects.toThrow(/ttl is 0/)
    await limiter.close()
    await expect(limiter.take('a', { rule: 'tokens' })).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
    await expect(createLimiter({ policy, deadlineMs: 5 } as never)).rejects.toThrow(
      /createLimiter.deadlineMs is 5; did you mean "deadline"\? there is no such option/,
    )
    await expect(createLimiter({ policy, deadline: 0.5 })).rejects.toThrow(/deadline is 0.5; use a whole number/)
    await expect(createLimiter({ policy, store: {} as never })).rejects.toThrow(/openRedis\(client\)/)
  })

  it('a take on a shadow rule is never denied', async () => {
    const limiter = await createLimiter({
      policy: { service: 's', rules: [{ name: 'w', limits: { rpm: 1 }, mode: 'shadow' }] },
    })
    await limiter.take('a')
    expect(await limiter.take('a')).toMatchObject({ allowed: true, shadow: [{ rule: 'w', allowed: false }] })
    await limiter.close()
  })
})

describe('a change of the policy', () => {
  const rule = (name: string, limits: NonNullable<RuleSpec['limits']>): RuleSpec => ({ name, limits })
  const flight = rule('flight', { amount: 1, algorithm: 'concurrency' })
  const limited = async (...versions: readonly (readonly RuleSpec[])[]) => {
    let listener: SourceListener | undefined
    const [first, ...later] = versions.map((rules) => ({ document: { service: 'live', rules }, revision: undefined }))
    const limiter = await createLimiter({
      policy: {
        description: 'a test',
        start: async (given) => {
          listener = given
          return first!
        },
        close: async () => {},
      },
    })
    const change = async () => {
      const loaded = new Promise<void>((resolve) => limiter.on('policyLoaded', () => resolve()))
      listener!.changed(later.shift()!)
      await loaded
    }
    return { limiter, change }
  }

  it('that adds a concurrency limit turns no decision into an exception', async () => {
    const { limiter, change } = await limited([rule('r', { rpm: 9 })], [{ ...flight, name: 'r' }])
    expect((await limiter.take('a')).allowed).toBe(true)
    await change()
    const { hold } = await limiter.admit('a')
    expect([(await limiter.take('a')).allowed, (await limiter.take('b')).allowed]).toEqual([false, true])
    await hold!.release()
    expect((await limiter.take('a')).allowed).toBe(true)
    await limiter.close()
  })

  it('that drops a rule lets what is asked for it pass, and health says so', async () => {
    const { limiter, change } = await limited([rule('a', { rpm: 1 })], [rule('b', { rpm: 1 }), rule('c', { rpm: 1 })])
    await limiter.take('k')
    await change()
    const free = { allowed: true, rule: undefined }
    expect(await limiter.take('k')).toMatchObject(free)
    expect(await limiter.take(['k', 1], { rule: 'a' })).toMatchObject(free)
    expect(await limiter.peek('k', { rule: 'a' })).toMatchObject(free)
    expect(await limiter.admit('k', { rule: 'a' })).toMatchObject({ decision: free, hold: undefined })
    expect((await limiter.reserve('k', { rule: 'a' })).decision).toMatchObject(free)
    expect((await limiter.health()).warnings).toEqual([expect.stringContaining('the rule a, which')])
    await expect(limiter.take('k', { rule: 'never' })).rejects.toMatchObject({ code: 'SLUICE_UNKNOWN_RULE' })
    await limiter.close()
  })

  it('that adds rules does not make unclear which one was meant', async () => {
    const { limiter, change } = await limited([rule('a', { rpm: 1 })], [rule('b', { rpm: 1 }), rule('a', { rpm: 1 })])
    expect((await limiter.take('k')).rule).toBe('a')
    await change()
    expect(await limiter.take('k')).toMatchObject({ allowed: false, rule: 'a' })
    await limiter.close()
  })
})

describe('a policy and its requests', () => {
  const keyless = { service: 's', rules: [{ name: 'default', limits: { rpm: 1 } }] }
  const request = { method: 'GET', path: '/', headers: { 'x-tenant': 'acme' } }

  it('warns in health once requests are checked that no rule can apply to', async () => {
    const limiter = await createLimiter({ policy: keyless })
    await limiter.take('acme')
    expect((await limiter.health()).warnings).toEqual([])
    await limiter.check(request)
    expect((await limiter.health()).warnings).toEqual([expect.stringMatching(/No rule of the policy has a key/)])
    await limiter.close()
  })

  it('finds keys by functions that the document names', async () => {
    const limiter = await createLimiter({
      policy: { service: 's', rules: [{ name: 'r', key: 'fn:tenantOf', limits: { rpm: 1 } }] },
      functions: { tenantOf: ({ headers }) => String(headers?.['x-tenant']) },
    })
    expect((await limiter.check(request)).allowed).toBe(true)
    expect((await limiter.check(request)).allowed).toBe(false)
    expect((await limiter.check({ ...request, headers: { 'x-tenant': 'other' } })).allowed).toBe(true)
    await limiter.close()
  })

  it('explains as it decides: a missing key that onMissing denies, an override, an expired one', async () => {
    const limiter = await createLimiter({
      policy: {
        service: 's',
        rules: [
          {
            name: 'r',
            key: 'headers.x-tenant',
            onMissing: 'deny',
            limits: { rpm: 1 },
            overrides: [
              { key: 'acme', limits: { rpm: 900 } },
              { key: 'former', limits: { rpm: 900 }, until: '2020-01-01' },
            ],
          },
        ],
      },
    })
    const bare = { method: 'GET', path: '/', headers: {} }
    expect(await limiter.check(bare)).toMatchObject({ allowed: false, reason: 'missing-key' })
    expect((await limiter.explain(bare)).decision).toMatchObject({ allowed: false, reason: 'missing-key', rule: 'r' })
    const why = async (tenant: string) =>
      (await limiter.explain({ ...bare, headers: { 'x-tenant': tenant } })).rules[0]?.why
    expect(await why('acme')).toMatch(/limits from an override for this key/)
    expect(await why('former')).toMatch(/an override for this key has expired/)
    expect(await why('other')).not.toMatch(/override/)
    await limiter.close()
  })
})

describe('limits without a policy', () => {
  it('are one rule that tells requests apart by address, and all else by the given key', async () => {
    const limiter = await createLimiter({ limits: { rpm: 1 } })
    const from = (ip: string) => limiter.check({ method: 'GET', path: '/', headers: {}, ip })
    expect((await from('1.1.1.1')).allowed).toBe(true)
    expect(await from('1.1.1.1')).toMatchObject({ allowed: false, rule: 'default', reason: 'quota', by: 'store' })
    expect((await from('2.2.2.2')).allowed).toBe(true)
    expect((await limiter.take('user:1')).allowed).toBe(true)
    expect((await limiter.take('user:1')).allowed).toBe(false)
    await limiter.close()
  })

  it('are refused beside a policy, and a service without them', async () => {
    const policy = { service: 's', rules: [{ name: 'r', limits: { rpm: 1 } }] }
    await expect(createLimiter({ policy, limits: { rpm: 1 } })).rejects.toThrow(/either limits or a policy/)
    await expect(createLimiter({ policy, service: 'other' })).rejects.toThrow(/a policy names its service itself/)
    await expect(createLimiter({})).rejects.toThrow(/or limits such as/)
  })
})

describe('check by one rule', () => {
  it('charges only that rule, and only if it matches', async () => {
    const limiter = await createLimiter({
      policy: {
        service: 's',
        rules: [
          { name: 'login', match: { path: '/login' }, key: 'ip', limits: { rpm: 1 } },
          { name: 'all', key: 'ip', limits: { rpm: 10 } },
          { name: 'tenant', key: 'headers.t', onMissing: 'deny', limits: { rpm: 10 } },
        ],
      },
    })
    const request = { method: 'GET', path: '/login', headers: { t: 'a' }, ip: '1.1.1.1' }
    expect(await limiter.check(request, { rule: 'login' })).toMatchObject({ allowed: true, rule: 'login' })
    expect(await limiter.check(request, { rule: 'login' })).toMatchObject({ allowed: false, rule: 'login' })
    expect((await limiter.peek(['1.1.1.1'], { rule: 'all' })).limits[0]?.remaining).toBe(10)
    expect(await limiter.check({ ...request, path: '/other' }, { rule: 'login' })).toMatchObject({ rule: undefined })
    expect(await limiter.check({ ...request, headers: {} }, { rule: 'all' })).toMatchObject({ allowed: true })
    expect(await limiter.check({ ...request, headers: {} }, { rule: 'tenant' })).toMatchObject({
      reason: 'missing-key',
    })
    await expect(limiter.check(request, { rule: 'lgoin' as never })).rejects.toThrow(/no rule "lgoin"/)
    await limiter.close()
  })
})

it.each([
  ['day', 24],
  ['week', 7 * 24],
  ['month', 31 * 24],
] as const)('the window of a limit per %s is as long as it usually is, paced or not', async (per, hours) => {
  const limits = { amount: 100, per, zone: 'Europe/Berlin' }
  const limiter = await createLimiter({
    policy: {
      service: 's',
      rules: [
        { name: 'plain', limits: [limits] },
        { name: 'paced', limits: [{ ...limits, pace: { burst: 100 } }] },
        { name: 'mixed', limits: [limits, { amount: 5, algorithm: 'concurrency' }] },
      ],
    },
  })
  for (const rule of ['plain', 'paced', 'mixed'] as const) {
    const [first] =
      rule === 'mixed' ? (await limiter.peek('a', { rule })).limits : (await limiter.take('a', { rule })).limits
    expect(first!.windowMs).toBe(hours * 3_600_000)
  }
  await limiter.close()
})
