import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Ask, Charge } from '../../core/ask.ts'
import { compilePolicy } from '../../policy/compile-policy.ts'
import type { LimitSpec } from '../../policy/document.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { Batch } from './batch.ts'
import { decide as script } from './scripts.gen.ts'

/** How many decisions the histories make together. */
const decisions = Number(process.env.SLUICE_HISTORIES ?? 100_000)
const startMs = Date.UTC(2026, 2, 28, 22)

/** The script with its clock and its expiry taken over by the test: nothing else of it is touched. */
function onVirtualTime(source: string): string {
  const replaced = [
    ['local clock = time[1] * 1000000 + time[2]', 'local clock = tonumber(ARGV[4])'],
    [
      "redis.call('SET', KEYS[k], cmsgpack.pack(p), 'PX', ttl + 1)",
      "redis.call('SET', KEYS[k], cmsgpack.pack(p)) redis.call('SET', 'ttl:' .. KEYS[k], ttl + 1)",
    ],
  ] as const
  return replaced.reduce((text, [from, to]) => {
    expect(text.split(from), `the script has one ${from}`).toHaveLength(2)
    return text.replace(from, to)
  }, source)
}

interface Step {
  readonly kind: Ask['kind']
  readonly subjects: readonly string[]
  readonly version: number
  readonly costs: readonly number[]
  readonly copies: number
  readonly id: string
  readonly hold: 'reserve' | 'acquire' | 'receipt' | undefined
  readonly ttlUs: number
  readonly agoUs: number
}
interface Tick {
  readonly jumpUs: number
  readonly steps: readonly Step[]
}
interface History {
  readonly versions: readonly (readonly LimitSpec[])[]
  readonly ticks: readonly Tick[]
}

const amount = fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 0, max: 12 }) }, fc.constantFrom(1001, 2500))
const per = fc.constantFrom('1s', '1m', '700ms', '3s', '1ms', '61m')
const limit: fc.Arbitrary<LimitSpec> = fc.oneof(
  fc.record({ amount, per, algorithm: fc.constant('fixed-window' as const) }),
  fc.record({ amount, per, algorithm: fc.constant('fixed-window' as const), align: fc.constant('clock' as const) }),
  fc.record({ amount, per, algorithm: fc.constant('sliding-window' as const) }),
  fc.record({ amount, per, algorithm: fc.constant('sliding-log' as const) }),
  fc.record({
    amount: fc.integer({ min: 1, max: 50 }),
    burst: fc.integer({ min: 1, max: 12 }),
    per: fc.constantFrom('1s', '3s'),
    algorithm: fc.constant('gcra' as const),
  }),
  fc.record({
    amount,
    per: fc.constantFrom('day' as const, 'week' as const, 'month' as const),
    algorithm: fc.constant('calendar' as const),
    zone: fc.constantFrom('UTC', 'Europe/Berlin'),
  }),
  fc.record({ amount: fc.integer({ min: 0, max: 6 }), algorithm: fc.constant('concurrency' as const) }),
)
const named = (limits: readonly LimitSpec[]): LimitSpec[] => limits.map((one, i) => ({ ...one, name: `l${i}` }))
// Policies change by little: limits come from one pool, in other orders and amounts.
const versions = fc.array(limit, { minLength: 1, maxLength: 6 }).chain((pool) =>
  fc.array(
    fc
      .shuffledSubarray(pool, { minLength: 1, maxLength: Math.min(4, pool.length) })
      .chain((some) =>
        fc
          .array(fc.constantFrom(1, 1, 1, 2), { minLength: some.length, maxLength: some.length })
          .map((factors) => named(some.map((one, i) => ({ ...one, amount: (one.amount ?? 0) * factors[i]! })))),
      ),
    { minLength: 1, maxLength: 3 },
  ),
)
const kinds = [
  'take',
  'take',
  'take',
  'take',
  'take',
  'take',
  'peek',
  'settle',
  'extend',
  'refund',
  'reset',
  'debit',
] as const
const cost = fc.oneof(
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 5 }) },
  fc.constantFrom(600, 1300),
)
const us = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 999 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1000, max: 400_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 4000 }).map((ms) => ms * 1000) },
  fc.constantFrom(61_000_000, 3_600_000_000, 86_400_000_000, 2_700_000_000_000),
)
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  subjects: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(['a'], ['a'], ['b']) },
    fc.shuffledSubarray(['a', 'b', 'c'], { minLength: 2 }),
  ),
  version: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(2)),
  costs: fc.tuple(cost, cost, cost, cost),
  copies: fc.constantFrom(1, 1, 1, 2, 5),
  id: fc.constantFrom('h1', 'h2', 'h3'),
  hold: fc.constantFrom(undefined, undefined, undefined, 'reserve', 'reserve', 'acquire', 'receipt'),
  ttlUs: us.map((ttl) => ttl + 1),
  agoUs: us,
})
const tick: fc.Arbitrary<Tick> = fc.record({ jumpUs: us, steps: fc.array(step, { minLength: 1, maxLength: 6 }) })
const history: fc.Arbitrary<History> = fc.record({ versions, ticks: fc.array(tick, { minLength: 1, maxLength: 12 }) })

/** One history under way, in memory and in Redis. */
class Lane {
  readonly index: number
  readonly #history: History
  readonly #rules
  readonly #prefix: string
  readonly #memory = memoryStore({ clock: { now: () => this.nowUs } })
  readonly #expiryUs = new Map<string, number>()
  nowUs = startMs * 1000

  constructor(entire: History, prefix: string, index: number) {
    this.index = index
    this.#history = entire
    this.#prefix = prefix
    this.#rules = entire.versions.map(
      (limits) => compilePolicy({ service: 'histories', rules: [{ name: 'rule', limits }] }).rules[0]!,
    )
  }

  key(subject: string): string {
    return `${this.#prefix}${subject}`
  }

  /** The keys that Redis would have dropped by now. */
  expired(): string[] {
    const gone = [...this.#expiryUs].filter(([, at]) => at < this.nowUs).map(([subject]) => subject)
    for (const subject of gone) this.#expiryUs.delete(subject)
    return gone.map((subject) => this.key(subject))
  }

  asks(round: number): Ask[] {
    const { steps = [] } = this.#history.ticks[round] ?? {}
    this.nowUs += this.#history.ticks[round]?.jumpUs ?? 0
    return steps.map((one) => this.#ask(one))
  }

  batch(asks: readonly Ask[]): { batch: Batch; answers: Promise<Answer>[] } {
    const batch = new Batch(0, 0)
    return { batch, answers: asks.map((ask) => batch.add(ask, (charge) => this.key(charge.subject))) }
  }

  /** Holds what Redis answered against what memory does, and the life that it gave to its keys against what they need. */
  check(round: number, asks: readonly Ask[], answers: readonly Answer[], lives: readonly (string | null)[]): void {
    for (const [i, ask] of asks.entries()) {
      const expected = this.#memory.decide(ask, 0) as Answer
      if (!isDeepStrictEqual(answers[i], expected)) {
        expect(answers[i], `round ${round}, ask ${i}: ${ask.kind}`).toEqual(expected)
      }
    }
    this.#checkLife(lives)
  }

  /** Every subject that still matters must outlive all its limits and holds. */
  #checkLife(lives: readonly (string | null)[]): void {
    for (const [s, subject] of ['a', 'b', 'c'].entries()) {
      const life = lives[s]
      if (typeof life === 'string') this.#expiryUs.set(subject, this.nowUs + Number(life) * 1000)
      for (const rule of this.#rules) {
        const { statuses, holds } = this.#memory.decide(
          { kind: 'peek', charges: [{ rule, subject, limits: rule.limitsFor(subject, undefined, 0), cost: 0 }] },
          0,
        ) as Answer
        const resets = statuses[0]!.map(({ resetMs }) => this.nowUs + (resetMs - 1) * 1000)
        const ends = [...resets, ...holds![0]!.map(({ expiresUs }) => expiresUs)]
        const last = Math.max(...ends)
        if (last > this.nowUs)
          expect(this.#expiryUs.get(subject) ?? 0, `life of ${subject}`).toBeGreaterThanOrEqual(last)
      }
    }
  }

  #ask(one: Step): Ask {
    const rule = this.#rules[one.version % this.#rules.length]!
    const limits = rule.limitsFor('a', undefined, 0)
    const subjects = one.kind === 'debit' ? one.subjects.slice(0, 1) : one.subjects
    const charges: Charge[] = subjects.map((subject, c) => ({ rule, subject, limits, cost: one.costs[c]! }))
    switch (one.kind) {
      case 'take': {
        // A limiter never takes of a concurrency limit without a hold.
        const kind = one.hold ?? (limits.needsHold ? 'acquire' : undefined)
        const hold = kind && { id: one.id, kind, ttlUs: one.ttlUs }
        return { kind: 'take', charges, hold, copies: hold || charges.length > 1 ? 1 : one.copies }
      }
      case 'settle':
        return { kind: 'settle', charges, id: one.id }
      case 'extend':
        return { kind: 'extend', charges, id: one.id, ttlUs: one.ttlUs }
      case 'refund':
        return { kind: 'refund', charges, takenUs: one.agoUs === 0 ? undefined : this.nowUs - one.agoUs + 1000 }
      case 'debit':
        return { kind: 'debit', charges, units: limits.limits.map((_, l) => one.costs[l]!) }
      default:
        return { kind: one.kind, charges }
    }
  }
}

describe('memory and Redis agree, decision for decision', () => {
  let server: RedisServer
  let redis: Redis
  const source = onVirtualTime(script.source)
  const sha1 = createHash('sha1').update(source).digest('hex')
  let made = 0

  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.port)
    await redis.script('LOAD', source)
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.stop()
  })

  async function round(lanes: readonly Lane[], r: number): Promise<void> {
    const pipeline = redis.pipeline()
    const running = lanes.map((lane) => {
      const asks = lane.asks(r)
      const { batch, answers } = lane.batch(asks)
      for (const key of lane.expired()) pipeline.del(key)
      const args = batch.args(lane.nowUs, lane.nowUs / 1000)
      pipeline.callBuffer('EVALSHA', sha1, batch.keys.length, ...batch.keys, ...args, `${lane.nowUs}`)
      pipeline.mget(['a', 'b', 'c'].map((subject) => `ttl:${lane.key(subject)}`))
      pipeline.del(...['a', 'b', 'c'].map((subject) => `ttl:${lane.key(subject)}`))
      return { lane, asks, batch, answers }
    })
    const replies = (await pipeline.exec())!
    const results = replies.map(([error, value]) => {
      if (error) throw error
      return value
    })
    let at = 0
    for (const { lane, asks, batch, answers } of running) {
      while (typeof results[at] === 'number') at++
      try {
        batch.settle(results[at] as Buffer)
        lane.check(r, asks, await Promise.all(answers), results[at + 1] as (string | null)[])
      } catch (error) {
        throw Object.assign(error as Error, { lane: lane.index })
      }
      made += asks.length
      at += 3
    }
  }

  /** Runs histories side by side; an error says in which lane it was. */
  async function run(histories: readonly History[]): Promise<void> {
    await redis.flushdb()
    const lanes = histories.map((one, i) => new Lane(one, `${i}:`, i))
    const rounds = Math.max(...histories.map(({ ticks }) => ticks.length))
    for (let r = 0; r < rounds; r++)
      await round(
        lanes.filter((_, i) => r < histories[i]!.ticks.length),
        r,
      )
  }

  /** Many at once are quick, but only one by itself can be made small. */
  async function runMany(seed: number): Promise<void> {
    const property = fc.asyncProperty(history, (one) => run([one]))
    const histories = (fc.sample(property, { seed, numRuns: 200 }) as unknown as [History][]).map(([one]) => one)
    try {
      await run(histories)
    } catch (error) {
      const { lane = 0 } = error as { lane?: number }
      await fc.assert(property, { seed, path: `${lane}` })
      throw error
    }
  }

  it(`over ${decisions} decisions of random histories`, { timeout: 60_000 + decisions }, async () => {
    const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1_000_000_000)
    for (let s = seed; made < decisions; s++) await runMany(s)
  })
})
