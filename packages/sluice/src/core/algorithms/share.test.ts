import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import type { Answer, Charge } from '../engine/ask.ts'
import { calendarPeriod } from './calendar-period.ts'

const amount = 20
const guaranteed = { prod: 12, batch: 5, dev: 0 }
const startMs = Date.UTC(2026, 2, 28, 20)

type Class = keyof typeof guaranteed

/** One subject whose limit three classes share, at any instant. */
class Shared {
  nowMs = startMs
  readonly #rule
  readonly #store = memoryStore({ clock: { now: () => this.nowMs * 1000 } })

  constructor(limits: object) {
    const shares = { by: 'context.class', of: { prod: '60%', batch: '25%', dev: '0%' }, default: 'dev' }
    const rules = [{ name: 'r', key: 'ip', limits: { amount, ...limits }, shares }]
    this.#rule = compilePolicy({ service: 's', rules }).rules[0]!
  }

  take(of: string, cost: number): Answer {
    return this.#store.decide(
      { kind: 'take', charges: [this.#charge(of, cost)], copies: 1, hold: undefined },
      0,
    ) as Answer
  }

  reserve(of: string, cost: number, id: string, ttlMs: number): Answer {
    const hold = { id, kind: 'reserve', ttlUs: ttlMs * 1000 } as const
    return this.#store.decide({ kind: 'take', charges: [this.#charge(of, cost)], copies: 1, hold }, 0) as Answer
  }

  peek(of: string, cost = 1): Answer {
    return this.#store.decide({ kind: 'peek', charges: [this.#charge(of, cost)] }, 0) as Answer
  }

  #charge(of: string, cost: number): Charge {
    return { rule: this.#rule, subject: 's', limits: this.#rule.limitsFor('s', undefined, this.nowMs, of), cost }
  }
}

const kinds = [
  { limits: { per: '1m' }, periodMs: 60_000 },
  { limits: { per: '1m', align: 'clock' }, periodMs: 60_000 },
  { limits: { per: 'day', zone: 'Europe/Berlin' }, periodMs: 86_400_000 },
]
const step = fc.record({
  of: fc.constantFrom<Class>('prod', 'prod', 'batch', 'dev', 'dev'),
  cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 13 })),
  times: fc.integer({ min: 1, max: 15 }),
  // Parts of a window; in one case to the very end of it.
  jump: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.double({ min: 0, max: 0.7, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 3, noNaN: true }) },
    { weight: 3, arbitrary: fc.constant('end' as const) },
  ),
})

describe.each(kinds)('of a limit with $limits', ({ limits, periodMs }) => {
  it('the total never exceeds it, and who was denied below its share passes from the end of that window on', () => {
    let denials = 0
    const random = fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
      const shared = new Shared(limits)
      let window = { endMs: 0, spent: 0 }
      const promised = new Map<Class, { readonly fromMs: number; readonly untilMs: number }>()
      for (const { of, cost, times, jump } of steps) {
        shared.nowMs =
          jump === 'end' ? Math.max(shared.nowMs, window.endMs) : shared.nowMs + Math.floor(jump * periodMs)
        for (let i = 0; i < times; i++) {
          const spentBefore = shared.peek(of).statuses[0]![1]!.share!.spent
          const { allowed, statuses } = shared.take(of, cost)
          const [total] = statuses[0]!
          if (shared.nowMs >= window.endMs) window = { endMs: 0, spent: 0 }
          if (total!.resetMs > 0) window.endMs = shared.nowMs + total!.resetMs
          if (allowed) window.spent += cost
          expect(window.spent).toBeLessThanOrEqual(amount)
          if (allowed || spentBefore + cost > guaranteed[of]) continue
          denials += 1
          const promise = promised.get(of)
          const isKept = promise && shared.nowMs >= promise.fromMs && shared.nowMs < promise.untilMs
          expect(isKept ? `${of} denied ${cost} with ${spentBefore} spent` : 'kept').toBe('kept')
          promised.set(of, { fromMs: window.endMs, untilMs: nextEnd(window.endMs) })
        }
      }
    })
    fc.assert(random, { numRuns: 150 })
    expect(denials).toBeGreaterThan(30)
  })

  /** Until when it is remembered what a class wanted. */
  function nextEnd(endMs: number): number {
    return limits.per === 'day' ? calendarPeriod('day', 'Europe/Berlin', endMs).endMs : endMs + periodMs
  }
})

describe('a class', () => {
  const exhaust = (shared: Shared, of: string): number => {
    let granted = 0
    while (shared.take(of, 1).allowed) granted += 1
    return granted
  }

  it('may use the whole limit while nobody else asks', () => {
    expect(exhaust(new Shared({ per: '1m' }), 'dev')).toBe(20)
  })

  it('leaves to another what that one spent in the window before, and uses the rest', () => {
    const shared = new Shared({ per: '1m' })
    for (let i = 0; i < 4; i++) shared.take('prod', 1)
    shared.nowMs += 60_000
    expect(exhaust(shared, 'dev')).toBe(16)
    expect(exhaust(shared, 'prod')).toBe(4)
  })

  it('has its whole share in the window after one in which it was denied', () => {
    const shared = new Shared({ per: '1m' })
    expect(exhaust(shared, 'dev')).toBe(20)
    expect(shared.take('prod', 1)).toMatchObject({ allowed: false, statuses: [[{}, { retryAfterMs: 60_000 }]] })
    shared.nowMs += 60_000
    expect(exhaust(shared, 'dev')).toBe(8)
    expect(exhaust(shared, 'prod')).toBe(12)
  })

  it('that does not ask any more leaves its share to others again', () => {
    const shared = new Shared({ per: '1m' })
    exhaust(shared, 'dev')
    shared.take('prod', 1)
    shared.nowMs += 120_000
    expect(exhaust(shared, 'dev')).toBe(20)
  })

  it('that is not listed counts as the default one', () => {
    expect(new Shared({ per: '1m' }).take('intern', 1).statuses[0]![1]).toMatchObject({
      name: 'per-1m-dev',
      share: { class: 'dev', guaranteed: 0, spent: 1 },
    })
  })

  it('gets back what it reserved, and no other class does', () => {
    const shared = new Shared({ per: '1m' })
    shared.take('dev', 3)
    shared.reserve('prod', 7, 'h', 1000)
    expect(shared.peek('prod').statuses[0]![1]!.share!.spent).toBe(7)
    shared.nowMs += 1000
    shared.take('dev', 1)
    expect(shared.peek('prod').statuses[0]![1]!.share!.spent).toBe(0)
    expect(shared.peek('dev').statuses[0]![1]!.share!.spent).toBe(4)
    expect(shared.peek('dev').statuses[0]![0]!.remaining).toBe(16)
  })
})
