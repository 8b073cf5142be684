import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { encodeKey, type Key } from '../../core/key.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { type MemoryStore, memoryStore } from './memory-store.ts'

const ruleOf = (limits: object, name = 'r') => compilePolicy({ service: 'memory', rules: [{ name, limits }] }).rules[0]!
const rpm5 = ruleOf({ rpm: 5 })
const rpm5Limits = rpm5.limitsFor('', undefined, 0)

function chargeOn(subject: string, cost = 1, rule = rpm5): Charge {
  return { rule, subject, limits: rule === rpm5 ? rpm5Limits : rule.limitsFor(subject, undefined, 0), cost }
}
function take(store: MemoryStore, ...charges: Charge[]): Answer {
  return store.decide({ kind: 'take', charges, copies: 1, hold: undefined }, 0) as Answer
}
function left(store: MemoryStore, charge: Charge): number {
  const answer = store.decide({ kind: 'peek', charges: [charge] }, 0) as Answer
  return answer.statuses[0]![0]!.remaining
}

describe('the memory store', () => {
  it('never holds more subjects than its maximum, whoever asks', () => {
    const clock = virtualClock()
    const store = memoryStore({ maxSubjects: 100, clock })
    for (let i = 0; i < 10_000; i++) {
      take(store, chargeOn(`attacker-${i}`))
      expect(store.size).toBeLessThanOrEqual(100)
    }
  })

  it('never forgets a denied subject for a new one, over a million keys from an attacker', () => {
    const clock = virtualClock()
    const store = memoryStore({ maxSubjects: 10_000, clock })
    const victims = Array.from({ length: 500 }, (_, i) => chargeOn(`victim-${i}`, 5))
    for (const victim of victims) {
      take(store, victim)
      expect(take(store, victim).allowed).toBe(false)
    }
    for (let i = 0; i < 1_000_000; i++) take(store, chargeOn(`attacker-${i}`))
    expect(store.size).toBeLessThanOrEqual(10_000)
    for (const victim of victims) expect(take(store, { ...victim, cost: 1 }).allowed).toBe(false)
  })

  it('fails with kind "full" when every subject it could forget is denied, and recovers when they no longer are', async () => {
    const clock = virtualClock()
    const store = memoryStore({ maxSubjects: 20, clock })
    for (let i = 0; i < 20; i++) {
      take(store, chargeOn(`denied-${i}`, 5))
      take(store, chargeOn(`denied-${i}`, 5))
    }
    expect(() => take(store, chargeOn('new'))).toThrowError(
      expect.objectContaining({ kind: 'full', code: 'SLUICE_STORE_FULL' }),
    )
    expect(take(store, chargeOn('denied-3')).allowed).toBe(false)
    expect((await store.health(0)).warnings.join()).toMatch(/maximum of 20 subjects/)
    clock.tick('1m')
    expect(take(store, chargeOn('new')).allowed).toBe(true)
  })

  it('never forgets a subject that has nothing left for a new one, although it was not denied yet', () => {
    const clock = virtualClock()
    const store = memoryStore({ maxSubjects: 1000, clock })
    let admitted = 0
    for (let round = 0; round < 20; round++) {
      while (left(store, chargeOn('attacker')) > 0 && take(store, chargeOn('attacker')).allowed) admitted++
      for (let i = 0; i < 1500; i++) take(store, chargeOn(`flood-${round}-${i}`))
    }
    expect(admitted).toBe(5)
  })

  it('keeps a subject that has nothing left also when tiers take turns on it', () => {
    const store = memoryStore({ maxSubjects: 1000, clock: virtualClock() })
    const daily = ruleOf({ rpd: 9 })
    const wide = ruleOf({ rpm: 5, rpd: 9 })
    take(store, chargeOn('a', 5))
    take(store, chargeOn('a', 1, daily))
    for (let i = 0; i < 5000; i++) take(store, chargeOn(`flood-${i}`))
    expect(take(store, chargeOn('a')).allowed).toBe(false)
    take(store, chargeOn('b', 5, wide), chargeOn('c', 5))
    for (let i = 0; i < 5000; i++) take(store, chargeOn(`flood-2-${i}`))
    expect([take(store, chargeOn('b')).allowed, take(store, chargeOn('c')).allowed]).toEqual([false, false])
  })

  it('is not well while it refuses new subjects', async () => {
    const clock = virtualClock()
    const store = memoryStore({ maxSubjects: 20, clock })
    for (let i = 0; i < 20; i++) take(store, chargeOn(`spent-${i}`, 5))
    expect((await store.health(0)).ok).toBeUndefined()
    expect(() => take(store, chargeOn('new'))).toThrowError(expect.objectContaining({ kind: 'full' }))
    expect((await store.health(0)).ok).toBe(false)
    clock.tick('2m')
    expect((await store.health(0)).ok).toBeUndefined()
  })

  it('empties itself when nobody asks any more, and then waits for nothing', async () => {
    const clock = virtualClock()
    const store = memoryStore({ clock })
    for (let i = 0; i < 100_000; i++) take(store, chargeOn(`${i}`))
    expect([store.size, clock.pending]).toEqual([100_000, 1])
    await clock.advance('61s')
    await clock.advance('10s')
    expect([store.size, clock.pending]).toEqual([0, 0])
    expect(take(store, chargeOn('again')).allowed).toBe(true)
    await store.close()
    expect(clock.pending).toBe(0)
  })

  it('lets expired subjects go as new ones come', () => {
    const clock = virtualClock()
    const store = memoryStore({ clock })
    for (let round = 0; round < 50; round++) {
      for (let i = 0; i < 1000; i++) take(store, chargeOn(`${round}-${i}`))
      clock.tick('61s')
    }
    expect(store.size).toBeLessThan(3000)
  })

  it('remembers nothing of those who only look, are refunded, or could never pass', () => {
    const store = memoryStore({ clock: virtualClock() })
    for (let i = 0; i < 100; i++) {
      left(store, chargeOn(`peek-${i}`))
      take(store, chargeOn(`never-${i}`, 6))
      take(store, chargeOn(`x-${i}`, 6), chargeOn(`y-${i}`))
      store.decide({ kind: 'refund', charges: [chargeOn(`refund-${i}`)], takenUs: undefined }, 0)
      store.decide({ kind: 'settle', charges: [chargeOn(`settle-${i}`)], id: 'h' }, 0)
      store.decide({ kind: 'reset', charges: [chargeOn(`reset-${i}`)] }, 0)
    }
    expect(store.size).toBe(0)
  })

  it('decides on several subjects exactly also when it is full', () => {
    const step = fc.record({ subjects: fc.uniqueArray(fc.nat(30), { minLength: 1, maxLength: 4 }), cost: fc.nat(3) })
    const property = fc.property(
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 4, max: 8 }),
      (steps, maxSubjects) => {
        const store = memoryStore({ maxSubjects, clock: virtualClock() })
        for (const { subjects, cost } of steps) {
          const charges = subjects.map((s) => chargeOn(`s${s}`, cost))
          const before = charges.map((charge) => left(store, charge))
          let answer: Answer
          try {
            answer = take(store, ...charges)
          } catch {
            continue
          }
          expect(store.size).toBeLessThanOrEqual(maxSubjects)
          if (answer.allowed) {
            // A subject that is in the decision is never the one that makes way for another in it.
            expect(charges.map((charge) => left(store, charge))).toEqual(before.map((units) => units - cost))
          } else if (charges.length > 1) {
            expect(before.some((units) => units < cost)).toBe(true)
          }
        }
      },
    )
    fc.assert(property, { numRuns: 300 })
  })

  it('says so when one decision is about more subjects than it may hold', () => {
    const store = memoryStore({ maxSubjects: 2, clock: virtualClock() })
    expect(() => take(store, chargeOn('a'), chargeOn('b'), chargeOn('c'))).toThrowError(
      expect.objectContaining({ kind: 'full' }),
    )
    expect(take(store, chargeOn('a'), chargeOn('b')).allowed).toBe(true)
  })

  it('moves a subject when its limits change, and holds it once', () => {
    const store = memoryStore({ maxSubjects: 2, clock: virtualClock() })
    const more = ruleOf({ rpm: 5, rph: 100 })
    take(store, chargeOn('a', 3))
    take(store, chargeOn('b', 3))
    expect(take(store, chargeOn('a', 1, more)).allowed).toBe(true)
    expect(store.size).toBe(2)
    expect(left(store, chargeOn('a'))).toBe(1)
    expect(left(store, chargeOn('b'))).toBe(2)
  })

  it('does not forget a denied subject because its limits changed', () => {
    const clock = virtualClock()
    const store = memoryStore({ maxSubjects: 50, clock })
    const more = ruleOf({ rpm: 5, rph: 100 })
    take(store, chargeOn('victim', 5))
    expect(take(store, chargeOn('victim', 1, more)).allowed).toBe(false)
    for (let i = 0; i < 5000; i++) take(store, chargeOn(`attacker-${i}`))
    expect(take(store, chargeOn('victim', 1, more)).allowed).toBe(false)
  })

  it('finds a subject by the text of its key as by its encoded key, and leaves the same behind', () => {
    const rules = [
      ruleOf({ rps: 3, rpm: 5 }),
      ruleOf([{ name: 'l', amount: 3, per: '1s', algorithm: 'gcra' }]),
      ruleOf([{ name: 'l', amount: 3, per: '1s', algorithm: 'sliding-window' }]),
      ruleOf([{ name: 'l', amount: 3, per: '1s', algorithm: 'sliding-log' }]),
      ruleOf([{ name: 'l', amount: 4, per: 'day', algorithm: 'calendar' }]),
    ]
    const step = fc.record({
      kind: fc.constantFrom('take', 'take', 'take', 'take', 'take', 'hold', 'refund', 'reset'),
      key: fc.constantFrom<Key>('a', 'a', 'b', 'a/b', ['a', 'b'], '#1', [1]),
      cost: fc.nat(4),
      jumpMs: fc.constantFrom(0, 0, 1, 400, 1000, 86_400_000),
    })
    let found = 0
    const property = fc.property(
      fc.constantFrom(...rules),
      fc.array(step, { minLength: 30, maxLength: 40 }),
      (rule, steps) => {
        const clock = virtualClock()
        const [bySubject, byText] = [memoryStore({ clock }), memoryStore({ clock })]
        for (const [s, { kind, key, cost, jumpMs }] of steps.entries()) {
          clock.tick(jumpMs)
          const charge = chargeOn(encodeKey(key), cost, rule)
          let isRead = typeof key !== 'string'
          const lazy: Charge =
            typeof key !== 'string'
              ? charge
              : {
                  ...charge,
                  text: key,
                  get subject() {
                    isRead = true
                    return charge.subject
                  },
                }
          const hold = kind === 'hold' ? ({ id: `h${s}`, ttlUs: 500_000, kind: 'reserve' } as const) : undefined
          const askOf = (one: Charge): Ask =>
            kind === 'refund'
              ? { kind, charges: [one], takenUs: undefined }
              : kind === 'reset'
                ? { kind, charges: [one] }
                : { kind: 'take', charges: [one], copies: 1, hold }
          expect(byText.decide(askOf(lazy), 0)).toEqual(bySubject.decide(askOf(charge), 0))
          if (!isRead) {
            found++
            expect(['a', 'b']).toContain(key)
          }
        }
        expect(byText.size).toBe(bySubject.size)
      },
    )
    fc.assert(property, { numRuns: 500 })
    expect(found).toBeGreaterThan(500)
  })

  it.each([0, -1, 1.5, Number.NaN, Infinity, '5'])('refuses %s for maxSubjects', (maxSubjects) => {
    expect(() => memoryStore({ maxSubjects: maxSubjects as number })).toThrow(
      /memoryStore.maxSubjects is .*; use a whole number/,
    )
  })
})
