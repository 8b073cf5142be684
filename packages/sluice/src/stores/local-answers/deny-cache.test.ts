import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { fallback } from '../fallback/fallback.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { wrapStore } from '../wrap-store.ts'
import { localAnswers } from './local-answers.ts'

const ruleOf = (rpm: number) => compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rpm } }] }).rule('r')!
const chargeOf = (rule: ReturnType<typeof ruleOf>, cost = 1, subject = 'a'): Charge => ({
  rule,
  subject,
  limits: rule.limitsFor(subject, undefined, 0),
  cost,
})

/** A memory store that counts how often it is asked, behind a deny-cache. */
function counted(maxSubjects = 100) {
  const inner = memoryStore()
  let asked = 0
  const clock = virtualClock()
  let gate: Promise<void> | undefined
  const store = wrapStore(inner, {
    decide: async (ask) => {
      asked++
      if (ask.kind === 'reset') await gate
      return inner.decide(ask, 0)
    },
  })
  /** Lets resets wait until the returned function is called. */
  const holdBack = (): (() => void) => {
    let release = (): void => {}
    gate = new Promise((resolve) => {
      release = resolve
    })
    return release
  }
  const withFallback = fallback(store, { failures: 5, cooldownMs: 1000, replicas: () => 1, clock })
  const cache = localAnswers(withFallback, {
    denyCache: { maxMs: 60_000, maxSubjects },
    lease: { aheadMs: 20, maxUnits: 1000 },
    clock,
  })
  const take = async (charge: Charge) =>
    cache.decide({ kind: 'take', charges: [charge], copies: 1, hold: undefined }, 500)
  return { cache, take, asked: () => asked, clock, holdBack }
}

describe('the deny-cache', () => {
  it('refuses what was just refused without asking, and tells a shorter wait as time passes', async () => {
    const { take, asked, clock } = counted()
    const charge = chargeOf(ruleOf(1))
    await take(charge)
    const first = await take(charge)
    const before = asked()
    await clock.advance(1500)
    const again = await Promise.all(Array.from({ length: 1000 }, () => take(charge)))
    expect(asked()).toBe(before)
    expect(again.every((answer) => !answer.allowed)).toBe(true)
    expect(again.at(-1)!.statuses[0]![0]!.retryAfterMs).toBe(first.statuses[0]![0]!.retryAfterMs - 1500)
  })

  it('asks for a smaller cost, and refuses a larger one', async () => {
    const { take, asked } = counted()
    const rule = ruleOf(10)
    await take(chargeOf(rule, 8))
    expect((await take(chargeOf(rule, 5))).allowed).toBe(false)
    const before = asked()
    expect((await take(chargeOf(rule, 6))).allowed).toBe(false)
    expect(asked()).toBe(before)
    expect((await take(chargeOf(rule, 2))).allowed).toBe(true)
  })

  it('asks again at once after a reset, a refund or a change of the limit', async () => {
    const { cache, take } = counted()
    const rule = ruleOf(1)
    const charge = chargeOf(rule)
    await take(charge)
    expect((await take(charge)).allowed).toBe(false)
    await cache.decide({ kind: 'reset', charges: [charge] }, 500)
    expect((await take(charge)).allowed).toBe(true)
    expect((await take(charge)).allowed).toBe(false)
    await cache.decide({ kind: 'refund', charges: [charge], takenUs: undefined }, 500)
    expect((await take(charge)).allowed).toBe(true)
    expect((await take(charge)).allowed).toBe(false)
    expect((await take(chargeOf(ruleOf(3)))).allowed).toBe(true)
  })

  it.each(['reset', 'refund', 'settle'] as const)('does not learn a denial that a %s has overtaken', async (kind) => {
    const { cache, take } = counted()
    const charge = chargeOf(ruleOf(1))
    const hold = { id: 'h', ttlUs: 60_000_000, kind: 'reserve' } as const
    const change: Ask =
      kind === 'settle'
        ? { kind, charges: [{ ...charge, cost: 0 }], id: 'h' }
        : kind === 'refund'
          ? { kind, charges: [charge], takenUs: undefined }
          : { kind, charges: [charge] }
    await cache.decide({ kind: 'take', charges: [charge], copies: 1, hold }, 500)
    const denied = take(charge)
    const changed = cache.decide(change, 500)
    expect((await denied).allowed).toBe(false)
    await changed
    expect((await take(charge)).allowed).toBe(true)
  })

  it('does not learn a denial from before a change whose answer comes later', async () => {
    const { cache, take, holdBack } = counted()
    const charge = chargeOf(ruleOf(1))
    await take(charge)
    const release = holdBack()
    const changed = cache.decide({ kind: 'reset', charges: [charge] }, 5000)
    expect((await take(charge)).allowed).toBe(false)
    release()
    await changed
    expect((await take(charge)).allowed).toBe(true)
  })

  it('still learns the denials of others while thousands of subjects change', async () => {
    const { cache, take, asked } = counted()
    const charge = chargeOf(ruleOf(1))
    await take(charge)
    for (let i = 0; i < 5000; i++)
      await cache.decide({ kind: 'reset', charges: [chargeOf(ruleOf(1), 1, `other ${i}`)] }, 500)
    expect((await take(charge)).allowed).toBe(false)
    const before = asked()
    expect((await take(charge)).allowed).toBe(false)
    expect(asked()).toBe(before)
  })

  it('remembers only so many, and forgetting costs only a round trip', async () => {
    const { take, asked } = counted(10)
    const rule = ruleOf(1)
    for (let i = 0; i < 50; i++) {
      await take(chargeOf(rule, 1, `s${i}`))
      await take(chargeOf(rule, 1, `s${i}`))
    }
    const before = asked()
    expect((await take(chargeOf(rule, 1, 's0'))).allowed).toBe(false)
    expect(asked()).toBe(before + 1)
    expect((await take(chargeOf(rule, 1, 's49'))).allowed).toBe(false)
    expect(asked()).toBe(before + 1)
  })

  it('does not refuse who asks again with the id of a hold that is open', async () => {
    const { cache, take, asked } = counted()
    const charge = chargeOf(ruleOf(1))
    const reserve = async (id: string, isNew: boolean) =>
      cache.decide(
        { kind: 'take', charges: [charge], copies: 1, hold: { id, ttlUs: 60e6, kind: 'reserve', isNew } },
        500,
      )
    expect(await reserve('mine', false)).toMatchObject({ allowed: true })
    expect(await take(charge)).toMatchObject({ allowed: false })
    expect(await reserve('mine', false)).toMatchObject({ allowed: true })
    const before = asked()
    expect(await reserve('made for this ask', true)).toMatchObject({ allowed: false, by: 'deny-cache' })
    expect(asked()).toBe(before)
  })

  it('never denies what the store would allow at that moment, however long its answers take', async () => {
    const limits = [
      { amount: 3, per: '100ms', algorithm: 'fixed-window' },
      { amount: 7, per: '100ms', burst: 2, algorithm: 'gcra' },
      { amount: 3, per: '100ms', algorithm: 'sliding-log' },
      { amount: 3, per: '100ms', algorithm: 'sliding-window' },
    ] as const
    const us = fc.integer({ min: 0, max: 30_000 })
    const steps = fc.array(fc.record({ pause: us, there: us, back: us, sameTick: fc.boolean() }), { maxLength: 40 })
    const property = fc.asyncProperty(fc.constantFrom(...limits), steps, async (limit, each) => {
      const clock = virtualClock()
      const inner = memoryStore({ clock })
      let [there, back] = [0, 0]
      const store = wrapStore(inner, {
        decide: async (ask, withinMs) => {
          clock.tick(there / 1000)
          const answer = await inner.decide(ask, withinMs)
          clock.tick(back / 1000)
          return answer
        },
      })
      const withFallback = fallback(store, { failures: 5, cooldownMs: 1000, replicas: () => 1, clock })
      const denyCache = { maxMs: 60_000, maxSubjects: 100 }
      const cache = localAnswers(withFallback, { denyCache, lease: { aheadMs: 20, maxUnits: 1000 }, clock })
      const rule = compilePolicy({ service: 's', rules: [{ name: 'r', limits: [limit] }] }).rule('r')!
      const take = async () => {
        const charges = [chargeOf(rule)]
        const answer = cache.decide({ kind: 'take', charges, copies: 1, hold: undefined }, 500)
        if (answer instanceof Promise) return answer
        const now = inner.decide({ kind: 'peek', charges }, 500) as Answer
        expect(now.allowed, answer.by).toBe(false)
        return answer
      }
      for (const step of each) {
        ;({ there, back } = step)
        clock.tick(step.pause / 1000)
        const first = take()
        if (step.sameTick) clock.tick(step.pause / 1000)
        await Promise.all([first, take()])
      }
    })
    await fc.assert(property, { numRuns: 200, endOnFailure: true })
  })
})
