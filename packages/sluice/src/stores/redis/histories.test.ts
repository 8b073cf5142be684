import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { type History, history, type Step, unsteady } from '../../../../../test/exactness/random-history.ts'
import { decideWithPrelude, virtualTime } from '../../../../../test/exactness/script-with-prelude.ts'
import { algorithmNames } from '../../core/algorithms/index.ts'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { maxKeptLimits } from '../../core/engine/convert-state.ts'
import { maxTakings } from '../../core/engine/holds.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import type { LimitSpec } from '../../policy/document/document.ts'
import { MsgpackReader } from '../../redis/msgpack.ts'
import { noSlot } from '../../redis/slots.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { Batch } from './batch.ts'
import { constants } from './scripts.gen.ts'
import { holdKinds } from './stored-subject.ts'

/** How many decisions the histories make together. */
const decisions = Number(process.env.SLUICE_HISTORIES ?? 50_000)
const startMs = Date.UTC(2026, 2, 28, 22)

const shares = [
  { by: 'context.class', of: { a: '50%', b: '30%', c: '20%' }, default: 'c' },
  { by: 'context.class', of: { a: '10%', b: '0%', c: '70%' }, default: 'b' },
]

/** Histories of what `fast-takes.lua` is for, takes under windows, with something else now and then. */
function mostlyPlain(kind: fc.Arbitrary<History>): fc.Arbitrary<History> {
  return fc.tuple(kind, fc.array(fc.nat(9), { minLength: 12, maxLength: 12 })).map(([one, dice]) => ({
    ...one,
    versions: one.versions.map(asPlain),
    blocks: dice[0] === 1 ? one.blocks : [],
    ticks: one.ticks.map((tick, t) => {
      if (dice[t] === 0) return tick
      const steps = tick.steps.map(asTake)
      return { ...tick, steps: dice[t]! < 4 ? steps : steps.map((step) => ({ ...step, version: 0 })) }
    }),
  }))
}

/** One paced limit alone, or nothing but windows. */
function asPlain(limits: readonly LimitSpec[]): readonly LimitSpec[] {
  return limits[0]!.pace === undefined ? limits.map(asWindow) : limits.slice(0, 1)
}

function asWindow(limit: LimitSpec): LimitSpec {
  if (limit.algorithm === 'fixed-window' || limit.algorithm === 'calendar') return limit
  return { name: limit.name!, amount: limit.amount!, per: limit.algorithm === 'gcra' ? '1s' : '1m' }
}

function asTake(step: Step, s: number): Step {
  return { ...step, kind: 'take', subjects: [['a', 'b', 'c'][(s + step.copies) % 3]!], hold: undefined }
}

/** Histories in which holds grow: most steps ask again with an id that is open, for one unit more. */
function mostlyGrowing(kind: fc.Arbitrary<History>): fc.Arbitrary<History> {
  return fc.tuple(kind, fc.array(fc.nat(9), { minLength: 72, maxLength: 72 })).map(([one, dice]) => {
    let s = 0
    const ticks = one.ticks.map((tick) => ({
      ...tick,
      jumpUs: Math.min(tick.jumpUs, 400_000),
      steps: tick.steps.map((step) => (dice[s++]! < 7 ? asGrowth(step, s) : { ...step, id: 'h1' })),
    }))
    return { ...one, ticks }
  })
}

function asGrowth(step: Step, s: number): Step {
  const hold = step.hold ?? 'reserve'
  return { ...step, kind: 'take', subjects: ['a'], id: 'h1', hold, costs: [s, s, s, s], ttlUs: step.ttlUs + 5_000_000 }
}

/** Histories of limits that three classes share, under which holds, refunds and blocks happen as well. */
function asShared(kind: fc.Arbitrary<History>): fc.Arbitrary<History> {
  return kind.map((one) => ({ ...one, shared: true, versions: one.versions.map(([first]) => [asWindow(first!)]) }))
}

/** Not that of the hold: what one class took, another may settle. */
function classOf(step: Step): string {
  return ['a', 'b', 'c', 'other'][(step.costs[3]! + step.copies + step.version) % 4]!
}

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
      (limits, v) =>
        compilePolicy({
          service: 'histories',
          rules: [
            {
              name: 'rule',
              limits,
              block: entire.blocks[v] ?? undefined,
              ...(entire.shared && { key: 'ip', shares: shares[v % shares.length] }),
            },
          ],
        }).rules[0]!,
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
    const keyOf = (charge: Charge): string => this.key(charge.subject)
    const owner = { keyOf, replied: () => {}, ended: () => {} }
    const batch = new Batch(noSlot, 0, 0, owner)
    const answers = asks.map(
      (ask) =>
        new Promise<Answer>((answered, failed) => {
          batch.add(ask, { answered, failed })
        }),
    )
    return { batch, answers }
  }

  /**
   * Holds what Redis answered against what memory does, and the life that it gave to its keys against what they need.
   */
  check(round: number, asks: readonly Ask[], answers: readonly Answer[], lives: readonly (string | null)[]): void {
    // Where the clock goes back, memory is no measure: that client and script count the same is what was checked
    // before.
    if (!this.#history.steady) return
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
    const subjects = one.kind === 'debit' || one.kind === 'raise' ? one.subjects.slice(0, 1) : one.subjects
    const charges: Charge[] = subjects.map((subject, c) => {
      const rule = this.#rules[(one.version + (one.mixed ? c : 0)) % this.#rules.length]!
      return { rule, subject, limits: rule.limitsFor('a', undefined, 0, classOf(one)), cost: one.costs[c]! }
    })
    switch (one.kind) {
      case 'take': {
        const permitsOnly = one.hold === 'places'
        const kind = one.hold === 'places' ? 'acquire' : one.hold
        const hold = kind && { id: one.id, kind, ttlUs: one.ttlUs, permitsOnly }
        return { kind: 'take', charges, hold, copies: hold || charges.length > 1 ? 1 : one.copies }
      }
      case 'settle':
      case 'resize':
        return { kind: one.kind, charges, id: one.id }
      case 'extend':
        return { kind: 'extend', charges, id: one.id, ttlUs: one.ttlUs }
      case 'refund':
        return { kind: 'refund', charges, takenUs: one.agoUs === 0 ? undefined : this.nowUs - one.agoUs + 1000 }
      case 'debit':
        return { kind: 'debit', charges, units: charges[0]!.limits.limits.map((_, l) => one.costs[l % 4]!) }
      case 'raise':
        return { kind: 'raise', charges, units: one.costs[1]! }
      case 'block':
        return { kind: 'block', charges, forUs: one.agoUs }
      default:
        return { kind: one.kind, charges }
    }
  }
}

const source = decideWithPrelude(virtualTime)
const sha1 = createHash('sha1').update(source).digest('hex')

/**
 * Random histories of one test, in a database of its own: a test that ran out of time may still have calls under way,
 * which must not be seen by the next one.
 */
class Comparison {
  readonly #redis: Redis
  readonly #signal: AbortSignal
  /** Decisions so far. */
  made = 0
  /** How many calls there were, and how many of them the short way decided. */
  calls = 0
  shortCalls = 0

  constructor(port: number, db: number, { signal, onTestFinished }: TestContext) {
    this.#redis = new Redis(port, { db })
    this.#signal = signal
    onTestFinished(() => this.#redis.disconnect())
  }

  /** Many at once are quick, but only one by itself can be made small. */
  async runMany(kind: fc.Arbitrary<History>, seed: number): Promise<void> {
    const property = fc.asyncProperty(kind, (one) => this.run([one]))
    // By `assert`, as `sample` draws others: then the one that failed is not found again by its number.
    const histories: History[] = []
    fc.assert(
      fc.property(kind, (one) => void histories.push(one)),
      { seed, numRuns: 200 },
    )
    try {
      await this.run(histories)
    } catch (error) {
      this.#signal.throwIfAborted()
      const { lane = 0, message } = error as Error & { lane?: number }
      await fc.assert(property, { seed, path: `${lane}`, numRuns: 1 })
      // It needs the company of the others.
      throw new Error(`SLUICE_SEED=${seed}, history ${lane}: ${message}`, { cause: error })
    }
  }

  /** Runs histories side by side; an error says in which lane it was. */
  async run(histories: readonly History[]): Promise<void> {
    await this.#redis.flushdb()
    await this.#redis.script('LOAD', source)
    const lanes = histories.map((one, i) => new Lane(one, `${i}:`, i))
    const rounds = Math.max(...histories.map(({ ticks }) => ticks.length))
    for (let r = 0; r < rounds; r++) {
      this.#signal.throwIfAborted()
      await this.#round(
        lanes.filter((_, i) => r < histories[i]!.ticks.length),
        r,
      )
    }
    this.shortCalls += Number(await this.#redis.get('short'))
  }

  async #round(lanes: readonly Lane[], r: number): Promise<void> {
    const pipeline = this.#redis.pipeline()
    const running = lanes.map((lane) => {
      const asks = lane.asks(r)
      const { batch, answers } = lane.batch(asks)
      for (const key of lane.expired()) pipeline.del(key)
      const args = [String(lane.nowUs), ...batch.args(lane.nowUs / 1000)]
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
        const reply = new MsgpackReader(results[at] as Buffer)
        expect(reply.read(), 'the script ran').toBe(0)
        batch.settle(reply, reply.read() as number)
        lane.check(r, asks, await Promise.all(answers), results[at + 1] as (string | null)[])
      } catch (error) {
        throw Object.assign(error as Error, { lane: lane.index })
      }
      this.made += asks.length
      this.calls += 1
      at += 3
    }
  }
}

describe('the constants of the scripts', () => {
  it('are those of the engine', () => {
    const nameOf = (name: string): string => name.toUpperCase().replace('-', '_')
    const codes: Readonly<Record<string, number>> = constants
    for (const [code, name] of algorithmNames.entries()) expect([name, codes[nameOf(name)]]).toEqual([name, code])
    for (const [code, kind] of holdKinds.entries()) expect([kind, codes[nameOf(kind)]]).toEqual([kind, code])
    expect([constants.MAX_TAKINGS, constants.MAX_KEPT]).toEqual([maxTakings, maxKeptLimits])
  })
})

describe('memory and Redis agree, decision for decision', () => {
  let server: RedisServer
  const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1_000_000_000)
  // It ends what hangs; how long they take says only how busy the machine is.
  const timeout = 240_000 + 10 * decisions

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.stop())

  it(`over ${decisions} decisions of random histories`, { timeout }, async (test) => {
    const comparison = new Comparison(server.port, 0, test)
    for (let s = seed; comparison.made < decisions; s++) await comparison.runMany(history, s)
  })

  it('and over takes under windows, most of which go the short way', { timeout }, async (test) => {
    const comparison = new Comparison(server.port, 1, test)
    for (let s = seed; comparison.made < decisions; s++) await comparison.runMany(mostlyPlain(history), s)
    expect(comparison.shortCalls).toBeGreaterThan(comparison.calls / 5)
    expect(comparison.shortCalls).toBeLessThan(comparison.calls)
  })

  it('and over holds that grow, by more steps than are kept apart', { timeout }, async (test) => {
    const comparison = new Comparison(server.port, 3, test)
    for (let s = seed; comparison.made < decisions / 5; s++) await comparison.runMany(mostlyGrowing(history), s)
  })

  it('and over limits that classes share', { timeout }, async (test) => {
    const comparison = new Comparison(server.port, 4, test)
    for (let s = seed; comparison.made < decisions / 2; s++) await comparison.runMany(asShared(history), s)
  })

  it('and over a share of a former limit that has ended, beside a window that began with it', async (test) => {
    const take = (version: number, units: number, dice: number): Step => ({
      ...{ kind: 'take', subjects: ['a'], version, costs: [units, 0, 0, dice], copies: 1, id: 'h1', hold: undefined },
      ...{ mixed: false, ttlUs: 1, agoUs: 0 },
    })
    await new Comparison(server.port, 5, test).run([
      {
        versions: [[{ name: 'l0', amount: 25, per: '1s' }], [{ name: 'l0', amount: 3, per: '1m' }]],
        ticks: [
          { jumpUs: 0, steps: [take(0, 2, 1)] },
          { jumpUs: 1_000_000, steps: [take(0, 1, 1), take(1, 1, 3)] },
          { jumpUs: 2_000_000, steps: [take(0, 0, 0), take(1, 0, 2)] },
        ],
        ...{ blocks: [], steady: true, shared: true },
      },
    ])
  })

  it('and so do script and client, also when the clock of a new master is behind', { timeout }, async (test) => {
    const comparison = new Comparison(server.port, 2, test)
    for (let s = seed; comparison.made < decisions / 5; s++)
      await comparison.runMany(s % 2 === 0 ? unsteady : mostlyPlain(unsteady), s)
  })
})
