import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decideWithPrelude, virtualClock } from '../../../../../test/exactness/script-with-prelude.ts'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { MsgpackReader } from '../../redis/msgpack.ts'
import { noSlot } from '../../redis/slots.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import type { Store } from '../store.ts'
import { storeOf } from '../store-of.ts'
import { Batch, type BatchOwner } from './batch.ts'
import { keysUnder } from './keys.ts'
import { openRedis } from './open-redis.ts'

const within = 10_000
const onClock = decideWithPrelude(virtualClock)
const policy = compilePolicy({
  service: 'stored',
  rules: [
    { name: 'four', limits: { rps: 10, rpm: 100, rph: 1000, rpd: 10_000 } },
    { name: 'log', limits: [{ amount: 10, per: '1h', algorithm: 'sliding-log' }] },
    { name: 'gcra', limits: [{ amount: 10, per: '1h', algorithm: 'gcra' }] },
    { name: 'hour', limits: [{ amount: 10, per: '1h' }] },
    { name: 'calendar', limits: [{ amount: 10, per: 'month' }] },
    {
      name: 'calendars',
      limits: [
        { amount: 10, per: 'day' },
        { amount: 10, per: 'month' },
      ],
    },
    { name: 'window', limits: [{ amount: 10, per: '1h', algorithm: 'sliding-window' }] },
    { name: 'places', limits: [{ amount: 10, algorithm: 'concurrency' }] },
    {
      name: 'shared',
      key: 'ip',
      limits: [{ amount: 10, per: '1h' }],
      shares: { by: 'context.class', of: { prod: '70%', dev: '30%' }, default: 'dev' },
    },
  ],
})

function charge(subject: string, rule = 'four', cost = 1): Charge {
  const compiled = policy.rule(rule)!
  return { rule: compiled, subject, limits: compiled.limitsFor(subject, undefined, Date.now()), cost }
}
/** Two units taken, and 1.5 s later two more under a hold, in format 1. */
const stored: Readonly<Record<string, string>> = {
  four: '9fcf00065449fc3d856000000201cd05dc0402cd05dc0403cd05dc047f96a16800ce0393870002009400010203',
  log: '95cf00065449fc3d85602294ce0016e3600200027f96a16800ce0393870002009122',
  gcra: '96cf00065449fc3d856032ce55bdc4a0ce15752a007f96a16800ce0393870002009132',
  hour: '96cf00065449fc3d856002cd05dc047f96a16800ce0393870002009102',
  calendar: '96cf00065449fc3d856042ce4ac7b31c047f96a16800ce0393870002009142',
  calendars: '99cf00065449fc3d856040ce02aeab1c0442ce4ac7b31c047f96a16800ce039387000200924042',
  window: '97cf00065449fc3d856012ce001b7d1c04007f96a16800ce0393870002009112',
  places: '93cf00065449fc3d85607f96a16800ce0393870002009150',
  shared:
    '9ccf00065449fc3d856002cd05dc04cf00036f014cca7507cd05dcce006ddd000400037f96a16800ce0393870002009202cf00036f014cca7507',
}

const take = (...charges: Charge[]): Ask => ({ kind: 'take', charges, copies: 1, hold: undefined })

describe('what lies at a limiter key', () => {
  let server: RedisServer
  let redis: Redis
  let store: Store

  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis({ port: server.port })
    store = storeOf(openRedis(redis))
  })
  beforeEach(() => redis.flushall())
  afterAll(async () => {
    await store?.close()
    redis?.disconnect()
    await server?.stop()
  })
  const keyOf = keysUnder('sluice:')
  const owner: BatchOwner = { keyOf, replied: () => {}, ended: () => {} }

  /** The script on a clock of the test's own, for a client that takes the time to be `clientMs`. */
  async function run(batch: Batch, nowUs: number, clientMs: number): Promise<Buffer> {
    const args = [String(nowUs), ...batch.args(clientMs), String(nowUs)]
    return (await redis.callBuffer('EVAL', onClock, batch.keys.length, ...batch.keys, ...args)) as Buffer
  }

  async function decideAt(ask: Ask, nowUs: number): Promise<Answer> {
    const batch = new Batch(noSlot, 0, 0, owner)
    const answer = new Promise<Answer>((answered, failed) => {
      batch.add(ask, { answered, failed })
    })
    const reply = new MsgpackReader(await run(batch, nowUs, nowUs / 1000))
    expect(reply.read()).toBe(0)
    batch.settle(reply, reply.read() as number)
    return answer
  }

  /** Stores a list that Redis packs itself, which starts with the time of the server unless told otherwise. */
  const plant = (key: string, list: string): Promise<unknown> =>
    redis.eval(
      `local many = {} for i = 1, 7000 do many[i] = i end
       local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
       return redis.call('SET', KEYS[1], cmsgpack.pack({ ${list} }))`,
      1,
      key,
    )
  const planted = (list: string) => (key: string) => plant(key, `now, ${list}`)

  const foreign: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    'a list': (key) => redis.rpush(key, 'x'),
    'a hash': (key) => redis.hset(key, 'f', 'x'),
    'a set': (key) => redis.sadd(key, 'x'),
    'a stream': (key) => redis.xadd(key, '*', 'f', 'x'),
    text: (key) => redis.set(key, 'hello'),
    'nothing at all': (key) => redis.set(key, ''),
    'a counter': (key) => redis.set(key, '5'),
    JSON: (key) => redis.set(key, '[1767225600000000,1,2]'),
    'an array of nothing': (key) => redis.set(key, Buffer.from([0x90])),
    'an array of texts': (key) => redis.set(key, Buffer.from([0x91, 0xa1, 0x61])),
    'an array that ends too early': (key) => redis.set(key, Buffer.from([0x93, 1])),
    'an array with a tag of no algorithm': (key) => redis.set(key, Buffer.from([0x93, 1, 0x70, 1])),
    'an array from the end of time': (key) => redis.set(key, Buffer.from('91cb7e37e43c8800759c', 'hex')),
    'a map': (key) => redis.set(key, Buffer.from([0x81, 1, 2])),
    'texts for numbers': planted("1, 'x', 'y'"),
    'nothing for numbers': planted('1, false, nil, 5'),
    'tables for numbers': planted('1, {}, {}'),
    'a field too few': planted('1, 5'),
    'a window that never ends': planted('1, 0/0, 1'),
    'a count below nothing': planted('1, 5, -1000'),
    'a count that is no number': planted('1, 5, 0/0'),
    'a count beyond all numbers': planted('1, 5, 1/0'),
    'a time that is no number': (key) => plant(key, '0/0, 1, 5, 1'),
    'holds of another shape': planted("1, 5, 1, 127, { 'id', 'x' }"),
    'a hold without an id': planted('1, 5, 1, 127, { 1, 2, 3, 4, 0, {} }'),
    'something after the holds': planted("1, 5, 1, 127, { 'id', 2, 3, 4, 0, { 1 } }, 7"),
    'a bucket that fills at no rate': planted('50, 1000, 0'),
    'a log of one text': planted("34, 'x'"),
    'a log with half an entry': planted('34, { 5 }'),
    'a million numbers': (key) => plant(key, 'unpack(many)'),
  }

  it.each(Object.entries(foreign))(
    'is %s: refused as wrongtype, left as it is, and nobody else notices',
    async (_, put) => {
      const strange = charge('strange')
      await put(keyOf(strange))
      const before = await redis.dump(keyOf(strange))
      const asks = [take(charge('before')), take(strange), take(charge('x'), strange), take(charge('after'))]
      const [one, two, three, four] = await Promise.allSettled(asks.map((ask) => store.decide(ask, within)))
      expect([one, four].map((each) => (each as PromiseFulfilledResult<Answer>).value?.allowed)).toEqual([true, true])
      for (const each of [two, three]) {
        expect(each).toMatchObject({ status: 'rejected', reason: { kind: 'wrongtype', transient: false } })
        expect(String((each as PromiseRejectedResult).reason.message)).toContain('strange')
      }
      expect(await redis.dump(keyOf(strange))).toEqual(before)
      expect(await redis.exists(keyOf(charge('x')))).toBe(0)
    },
  )

  it.each(Object.entries(foreign))('is %s: also refused under one limit, which a reset repairs', async (_, put) => {
    const [strange, neighbour] = [charge('strange', 'hour'), charge('neighbour', 'hour')]
    await put(keyOf(strange))
    const both = [take(strange), take(neighbour)]
    const [refused, fine] = await Promise.allSettled(both.map((ask) => store.decide(ask, within)))
    expect(refused).toMatchObject({ status: 'rejected', reason: { kind: 'wrongtype' } })
    expect(fine).toMatchObject({ value: { allowed: true } })
    const reset: Ask = { kind: 'reset', charges: [strange, charge('other', 'hour')] }
    const inOneCall = await Promise.allSettled(
      [take(strange), reset, take(strange)].map((ask) => store.decide(ask, within)),
    )
    expect(inOneCall).toMatchObject([
      { status: 'rejected' },
      { value: { allowed: true } },
      { value: { allowed: true } },
    ])
    expect((await store.decide(take(strange), within)).statuses[0]![0]!.remaining).toBe(8)
  })

  describe('is of a format that a later version writes', () => {
    const later = (key: string) => redis.set(key, Buffer.from([0xc1, 2, 0x91, 1]), 'EX', 100)

    it('refused by its own kind, alone and among others, and left as it is until a reset', async () => {
      for (const rule of ['hour', 'four', 'log', 'calendar']) {
        const [strange, neighbour] = [charge('strange', rule), charge('neighbour', rule)]
        await later(keyOf(strange))
        const before = await redis.dump(keyOf(strange))
        const asks: Ask[] = [
          take(strange),
          take(neighbour),
          { kind: 'peek', charges: [strange] },
          { kind: 'settle', charges: [strange], id: 'h' },
          take(charge('other', rule), strange),
        ]
        const [mine, other, ...rest] = await Promise.allSettled(asks.map((ask) => store.decide(ask, within)))
        const refused = { status: 'rejected', reason: { kind: 'format', transient: false } }
        expect([mine, ...rest], rule).toMatchObject([refused, refused, refused, refused])
        await expect(store.decide(take(strange), within), `${rule}, alone`).rejects.toMatchObject({ kind: 'format' })
        expect(other).toMatchObject({ value: { allowed: true } })
        expect(await redis.dump(keyOf(strange))).toEqual(before)
        await store.decide({ kind: 'reset', charges: [strange] }, within)
        expect((await store.decide(take(strange), within)).allowed).toBe(true)
      }
    })

    it("limited to this replica's share, whatever the rule says of outages, and never through an open breaker", async () => {
      for (const onStoreFailure of ['open', 'local'] as const) {
        const policy = { service: 'later', rules: [{ name: 'r', limits: { rph: 40 }, onStoreFailure }] }
        const limiter = await createLimiter({ policy, redis: openRedis(redis), replicas: 4, denyCache: false })
        await later('sluice:later/r/a')
        const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.take('a')))
        expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
        expect(decisions[0]).toMatchObject({ degraded: true, failure: 'format', by: 'local' })
        expect(await limiter.take('b')).toMatchObject({ degraded: false })
        await limiter.close()
      }
    })
  })

  it('is what this version wrote before, byte for byte: versions beside each other share their subjects', async () => {
    const now = Date.UTC(2026, 5, 15, 12, 30) * 1000
    const hold = { id: 'h', ttlUs: 60_000_000, kind: 'reserve' } as const
    for (const [rule, bytes] of Object.entries(stored)) {
      const one = charge('format', rule, 2)
      await decideAt(take(one), now)
      await decideAt({ kind: 'take', charges: [one], copies: 1, hold }, now + 1_500_000)
      expect((await redis.getBuffer(keyOf(one)))?.toString('hex'), rule).toBe(bytes)
      await redis.set(keyOf(one), Buffer.from(bytes, 'hex'))
      const room = (await decideAt({ kind: 'peek', charges: [one] }, now + 1_500_000)).statuses[0]!.at(-1)!
      expect(room.remaining, rule).toBe(rule === 'places' ? 8 : room.amount - 4)
    }
  })

  it('is any bytes whatever: settled one way or the other, and the connection stays good', async () => {
    const property = fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), async (bytes) => {
      const strange = charge('strange')
      await redis.set(keyOf(strange), Buffer.from(bytes))
      const outcome = await Promise.resolve(store.decide(take(strange), within)).catch((error: unknown) => error)
      expect(outcome).toSatisfy((each) => 'allowed' in (each as object) || 'kind' in (each as object))
      await redis.del(keyOf(strange))
      expect((await store.decide(take(charge('sound')), within)).statuses[0]).toHaveLength(4)
    })
    await fc.assert(property, { numRuns: 300 })
  })

  it('is valid, with something after it: refused as wrongtype, and the states of others stay their own', async () => {
    const [strange, sound] = [charge('strange'), charge('sound')]
    for (const one of [strange, sound]) for (let i = 0; i < 3; i++) await store.decide(take(one), within)
    await redis.append(keyOf(strange), '\x01')
    const [refused, fine] = await Promise.allSettled(
      [take(strange), take(sound)].map((ask) => store.decide(ask, within)),
    )
    expect(refused).toMatchObject({ status: 'rejected', reason: { kind: 'wrongtype' } })
    expect((fine as PromiseFulfilledResult<Answer>).value.statuses[0]!.map(({ remaining }) => remaining)).toEqual([
      6, 96, 996, 9996,
    ])
  })

  it('always has an expiry, whatever was asked', async () => {
    for (const { name } of policy.rules) {
      const one = charge('expires', name, 2)
      const hold = { id: 'h', ttlUs: 60_000_000, kind: 'reserve' } as const
      const asks: Ask[] = [
        take(one),
        { kind: 'take', charges: [one], copies: 1, hold },
        { kind: 'extend', charges: [one], id: 'h', ttlUs: 120_000_000 },
        { kind: 'settle', charges: [{ ...one, cost: 1 }], id: 'h' },
        { kind: 'refund', charges: [{ ...one, cost: 1 }], takenUs: undefined },
        { kind: 'debit', charges: [one], units: one.limits.limits.map(() => 1) },
      ]
      for (const ask of asks) {
        await store.decide(ask, within)
        const life = await redis.pttl(keyOf(one))
        // -2: nothing left to remember. -1 would be for ever.
        expect(life, `${name} after ${ask.kind}`).not.toBe(-1)
        if (ask.kind === 'extend') expect(life).toBeGreaterThan(110_000)
      }
    }
  })

  it('takes at most 150 bytes with four limits and a key of 40 characters', async () => {
    const one = charge('s'.repeat(40 - keyOf(charge('')).length))
    for (let i = 0; i < 9; i++) await store.decide(take(one), within)
    expect(keyOf(one)).toHaveLength(40)
    expect(await redis.memory('USAGE', keyOf(one))).toBeLessThanOrEqual(150)
  })

  it('survives that scripts are flushed in between, again and again', async () => {
    const one = charge('flushed', 'log')
    for (let i = 0; i < 5; i++) {
      await redis.script('FLUSH')
      const [answer] = await Promise.all([store.decide(take(one), within), store.decide(take(charge('other')), within)])
      expect(answer.statuses[0]![0]!.remaining).toBe(9 - i)
    }
  })

  it('lives as long as its windows: a new one moves the expiry, one in progress leaves it where it is', async () => {
    const now = Date.UTC(2026, 5, 15) * 1000
    const hour = 3_600_000
    for (const name of ['hour', 'four']) {
      const one = charge('expiry', name)
      const period = name === 'hour' ? hour : 24 * hour
      expect((await decideAt(take(one), now)).allowed).toBe(true)
      expect(await redis.pttl(keyOf(one))).toBeGreaterThan(period - 10_000)
      await redis.pexpire(keyOf(one), period - 60_000)
      expect((await decideAt(take(one), now + 2_000_000)).allowed).toBe(true)
      expect(await redis.pttl(keyOf(one))).toBeLessThanOrEqual(period - 60_000)
      expect((await decideAt(take(one), now + period * 1000)).statuses[0]!.at(-1)!.remaining).toBe(
        one.limits.limits.at(-1)!.amount - 1,
      )
      expect(await redis.pttl(keyOf(one)), name).toBeGreaterThan(period - 10_000)
    }
  })

  it('is not touched by a client that takes the time to be in another calendar period', async () => {
    const now = Date.UTC(2026, 5, 15) * 1000
    for (const name of ['calendar', 'calendars']) {
      const one = charge('period', name)
      for (const days of [-80, 70]) {
        const batch = new Batch(noSlot, 0, 0, owner)
        batch.add(take(one), { answered: () => expect.unreachable(), failed: () => expect.unreachable() })
        const reply = new MsgpackReader(await run(batch, now, now / 1000 + days * 86_400_000))
        expect([reply.read(), reply.read()], 'too late, and the time').toEqual([1, now])
        expect(await redis.exists(keyOf(one))).toBe(0)
      }
    }
  })

  it('says how long to wait by the clock of a master that is behind', async () => {
    const now = Date.UTC(2026, 5, 15) * 1000
    for (const name of ['four', 'hour', 'log', 'gcra', 'calendar', 'window']) {
      const one = charge('waits', name, 10)
      await decideAt(take(one), now)
      const behind = now - 3_600_000_000
      const { allowed, statuses } = await decideAt(take({ ...one, cost: 1 }), behind)
      const waitMs = Math.max(...statuses[0]!.map(({ retryAfterMs }) => retryAfterMs))
      expect([allowed, waitMs > 3_600_000], name).toEqual([false, true])
      const [early, due] = [behind + (waitMs - 1) * 1000 - 1, behind + waitMs * 1000]
      expect((await decideAt(take({ ...one, cost: 1 }), early)).allowed, `${name} too early`).toBe(false)
      expect((await decideAt(take({ ...one, cost: 1 }), due)).allowed, `${name} when it was said`).toBe(true)
    }
  })

  it('cannot be made to run backwards by a master whose clock is behind', async () => {
    const now = Date.UTC(2026, 5, 15) * 1000
    for (const name of ['four', 'hour', 'log', 'gcra', 'calendar', 'window']) {
      const one = charge('behind', name, 10)
      expect((await decideAt(take(one), now)).allowed).toBe(true)
      for (const back of [1, 5_000_000, 3_600_000_000]) {
        const answer = await decideAt(take({ ...one, cost: 1 }), now - back)
        expect(answer.allowed, `${name} ${back} us back`).toBe(false)
        expect(answer.nowUs).toBe(now)
      }
      const refunded = await decideAt(
        { kind: 'refund', charges: [{ ...one, cost: 1 }], takenUs: undefined },
        now - 5_000_000,
      )
      expect(refunded.statuses[0]![0]!.remaining).toBe(1)
      // It must live by the clock that is behind until the time that it was written for, and beyond.
      const life = await redis.pttl(keyOf(one))
      const resetMs = Math.max(...refunded.statuses[0]!.map((status) => status.resetMs))
      expect(life, name).toBeGreaterThan(resetMs - 1000)
    }
  })
})
