import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import type { LimitSpec } from '../../policy/document/document.ts'
import type { Answer, Charge, HoldRequest } from '../engine/ask.ts'
import { decide } from '../engine/engine.ts'
import { calendarPeriod } from './calendar-period.ts'
import type { State } from './state.ts'

/** One subject with one limit, decided at any instant. */
class Subject {
  readonly charge: Charge
  readonly #state: State

  constructor(limit: LimitSpec) {
    const rule = compilePolicy({ service: 'bounds', rules: [{ name: 'r', limits: [limit] }] }).rules[0]!
    const limits = rule.limitsFor('s', undefined, 0)
    this.charge = { rule, subject: 's', limits, cost: 1 }
    this.#state = { n: new Float64Array(limits.fields), at: 0, extra: undefined }
  }

  take(cost: number, nowUs: number, hold?: HoldRequest): Answer {
    return decide({ kind: 'take', charges: [{ ...this.charge, cost }], copies: 1, hold }, [this.#state], nowUs)
  }

  /** What a take would say; changes nothing. */
  look(cost: number, nowUs: number): Answer {
    const { n, extra } = this.#state
    const copy: State = { n: n.slice(), at: 0, extra: structuredClone(extra) }
    return decide({ kind: 'peek', charges: [{ ...this.charge, cost }] }, [copy], nowUs)
  }

  passes(cost: number, nowUs: number): boolean {
    return this.look(cost, nowUs).allowed
  }

  settle(id: string, nowUs: number, cost: number = this.charge.cost): void {
    decide({ kind: 'settle', charges: [{ ...this.charge, cost }], id }, [this.#state], nowUs)
  }
}

interface Spend {
  readonly atUs: number
  readonly units: number
}

const startUs = Date.UTC(2026, 2, 27, 3) * 1000
const amount = fc.integer({ min: 1, max: 20 })
const periodMs = fc.constantFrom(1, 10, 250, 1000, 7_000)
/** Gaps relative to the period, so that boundaries are met often; costs mostly small, sometimes beyond everything. */
const load = fc.array(
  fc.record({
    gap: fc.oneof(
      { weight: 4, arbitrary: fc.double({ min: 0, max: 0.2, noNaN: true }) },
      { weight: 2, arbitrary: fc.constantFrom(0, 0.5, 1, 1 - 1e-6, 1 + 1e-6) },
      fc.double({ min: 0, max: 2.5, noNaN: true }),
    ),
    cost: fc.oneof(
      { weight: 4, arbitrary: fc.constant(1) },
      fc.integer({ min: 0, max: 8 }),
      fc.integer({ min: 0, max: 45 }),
    ),
  }),
  { minLength: 1, maxLength: 60 },
)
type Load = readonly { readonly gap: number; readonly cost: number }[]

/** Puts load on a limit, and holds every denial to what it said about when the cost would pass. */
function admitted(limit: LimitSpec, asks: Load, spanMs: number): Spend[] {
  const subject = new Subject(limit)
  const spends: Spend[] = []
  let now = startUs
  for (const { gap, cost } of asks) {
    now += Math.round(gap * spanMs * 1000)
    const answer = subject.take(cost, now)
    if (answer.allowed) spends.push({ atUs: now, units: cost })
    const { retryAfterMs, remaining } = answer.statuses[0]![0]!
    expect(remaining).toBeGreaterThanOrEqual(0)
    expect(remaining, 'what is left is what a look finds').toBe(subject.look(cost, now).statuses[0]![0]!.remaining)
    if (answer.allowed) expect(retryAfterMs).toBe(0)
    else if (retryAfterMs === Infinity) expect(cost).toBeGreaterThan(limit.burst ?? limit.amount!)
    else {
      expect(subject.passes(cost, now + retryAfterMs * 1000), `passes after ${retryAfterMs} ms`).toBe(true)
      const earlier = now + (retryAfterMs - 1) * 1000
      expect(subject.passes(cost, earlier), `denied one ms before ${retryAfterMs} ms`).toBe(false)
    }
  }
  return spends
}

/** The most units in any stretch of `lengthUs`: it is enough to look at those that start with a spend. */
function densest(spends: readonly Spend[], lengthUs: number): number {
  let most = 0
  for (let first = 0; first < spends.length; first++) {
    let units = 0
    for (let s = first; s < spends.length && spends[s]!.atUs < spends[first]!.atUs + lengthUs; s++)
      units += spends[s]!.units
    most = Math.max(most, units)
  }
  return most
}

function perWindow(spends: readonly Spend[], startOf: (atUs: number) => number): number[] {
  const sums = new Map<number, number>()
  for (const { atUs, units } of spends) sums.set(startOf(atUs), (sums.get(startOf(atUs)) ?? 0) + units)
  return [...sums.values()]
}

const runs = { numRuns: 400 }

describe('never admits more than it says', () => {
  it('fixed-window on the clock: the amount in each window, twice that in any stretch as long', () => {
    const property = fc.property(amount, periodMs, load, (most, ms, asks) => {
      const spends = admitted({ amount: most, per: `${ms}ms`, algorithm: 'fixed-window', align: 'clock' }, asks, ms)
      for (const sum of perWindow(spends, (us) => Math.floor(us / 1000 / ms))) expect(sum).toBeLessThanOrEqual(most)
      expect(densest(spends, ms * 1000)).toBeLessThanOrEqual(2 * most)
    })
    fc.assert(property, runs)
  })

  it('fixed-window from the first hit: the amount in each window, twice that in any stretch as long', () => {
    const property = fc.property(amount, periodMs, load, (most, ms, asks) => {
      const spends = admitted({ amount: most, per: `${ms}ms`, algorithm: 'fixed-window' }, asks, ms)
      let openedMs = -Infinity
      const sums = perWindow(
        spends.filter(({ units }) => units > 0),
        (us) => {
          if (Math.floor(us / 1000) >= openedMs + ms) openedMs = Math.floor(us / 1000)
          return openedMs
        },
      )
      for (const sum of sums) expect(sum).toBeLessThanOrEqual(most)
      expect(densest(spends, ms * 1000)).toBeLessThanOrEqual(2 * most)
    })
    fc.assert(property, runs)
  })

  it('sliding-window: the amount in each clock-aligned window, less than twice that in any stretch as long', () => {
    const property = fc.property(amount, periodMs, load, (most, ms, asks) => {
      const spends = admitted({ amount: most, per: `${ms}ms`, algorithm: 'sliding-window' }, asks, ms)
      for (const sum of perWindow(spends, (us) => Math.floor(us / 1000 / ms))) expect(sum).toBeLessThanOrEqual(most)
      expect(densest(spends, ms * 1000)).toBeLessThan(2 * most)
    })
    fc.assert(property, runs)
  })

  it('sliding-log: the amount in any rolling window', () => {
    const property = fc.property(amount, periodMs, load, (most, ms, asks) => {
      const spends = admitted({ amount: most, per: `${ms}ms`, algorithm: 'sliding-log' }, asks, ms)
      expect(densest(spends, ms * 1000)).toBeLessThanOrEqual(most)
    })
    fc.assert(property, runs)
  })

  it('sliding-log with amounts so large that entries share ticks: the amount in any rolling window', () => {
    const property = fc.property(fc.constantFrom(1001, 5000), periodMs, load, (most, ms, asks) => {
      const subject = new Subject({ amount: most, per: `${ms}ms`, algorithm: 'sliding-log' })
      const spends: Spend[] = []
      let now = startUs
      for (const { gap, cost } of asks) {
        now += Math.round(gap * ms * 1000)
        if (subject.take(cost * 300, now).allowed) spends.push({ atUs: now, units: cost * 300 })
      }
      expect(densest(spends, ms * 1000)).toBeLessThanOrEqual(most)
    })
    fc.assert(property, runs)
  })

  it('gcra: the burst and what the rate gives, in any stretch', () => {
    const burst = fc.integer({ min: 1, max: 30 })
    const property = fc.property(amount, burst, fc.constantFrom(250, 1000, 7000), load, (rate, most, ms, asks) => {
      const spends = admitted({ amount: rate, burst: most, per: `${ms}ms`, algorithm: 'gcra' }, asks, ms)
      for (let first = 0; first < spends.length; first++) {
        let units = 0
        for (let s = first; s < spends.length; s++) {
          units += spends[s]!.units
          const stretchUs = spends[s]!.atUs - spends[first]!.atUs
          expect(units).toBeLessThanOrEqual(most + (rate * stretchUs) / (ms * 1000) + 1e-6)
        }
      }
    })
    fc.assert(property, runs)
  })

  it.each(['day', 'week', 'month'] as const)(
    'calendar: the amount in each %s, in zones whose clocks change',
    (unit) => {
      const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'America/Sao_Paulo')
      const span = { day: 86_400_000, week: 604_800_000, month: 2_592_000_000 }[unit]
      const property = fc.property(amount, zones, load, (most, zone, asks) => {
        const spends = admitted({ amount: most, per: unit, algorithm: 'calendar', zone }, asks, span)
        const sums = perWindow(spends, (us) => calendarPeriod(unit, zone, us / 1000).startMs)
        for (const sum of sums) expect(sum).toBeLessThanOrEqual(most)
      })
      fc.assert(property, { numRuns: 60 })
    },
  )

  it('concurrency: the amount in flight, and every place comes back', () => {
    const step = fc.record({
      gapUs: fc.integer({ min: 0, max: 2000 }),
      cost: fc.integer({ min: 0, max: 4 }),
      ttlUs: fc.integer({ min: 1, max: 20_000 }),
      release: fc.option(fc.nat(30)),
    })
    const property = fc.property(amount, fc.array(step, { maxLength: 60 }), (most, steps) => {
      const subject = new Subject({ amount: most, algorithm: 'concurrency' })
      const open = new Map<string, { cost: number; expiresUs: number }>()
      let now = startUs
      for (const [i, { gapUs, cost, ttlUs, release }] of steps.entries()) {
        now += gapUs
        for (const [id, { expiresUs }] of open) if (expiresUs <= now) open.delete(id)
        if (release !== null) {
          subject.settle(`h${release}`, now)
          open.delete(`h${release}`)
        }
        const held = [...open.values()].reduce((sum, hold) => sum + hold.cost, 0)
        const answer = subject.take(cost, now, { id: `h${i}`, kind: 'acquire', ttlUs })
        expect(answer.allowed).toBe(held + cost <= most || cost === 0)
        const { retryAfterMs } = answer.statuses[0]![0]!
        if (answer.allowed) open.set(`h${i}`, { cost, expiresUs: now + ttlUs })
        else if (retryAfterMs === Infinity) expect(cost).toBeGreaterThan(most)
        else expect(subject.passes(cost, now + retryAfterMs * 1000)).toBe(true)
        expect([...open.values()].reduce((sum, hold) => sum + hold.cost, 0)).toBeLessThanOrEqual(most)
      }
      expect(subject.passes(most, now + 20_001)).toBe(true)
    })
    fc.assert(property, runs)
  })
})

describe('holds that grow on a sliding log', () => {
  it('leave exactly the units that they kept, at the instants at which they took them', () => {
    const step = fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      gapUs: fc.integer({ min: 1, max: 300_000 }),
      more: fc.integer({ min: 0, max: 3 }),
      settles: fc.boolean(),
      kept: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const subject = new Subject({ amount: 12, per: '1s', algorithm: 'sliding-log' })
        /** Every unit by its time: those of open holds, the newest last, and those that were kept for good. */
        const open = new Map<string, number[]>()
        const takings = new Map<string, number>()
        const kept: number[] = []
        let nowUs = startUs
        for (const { id, gapUs, more, settles, kept: share } of steps) {
          nowUs += gapUs
          const units = open.get(id)
          if (settles && units !== undefined) {
            const actual = Math.floor(units.length * share)
            subject.settle(id, nowUs, actual)
            kept.push(...units.slice(0, actual))
            open.delete(id)
            takings.delete(id)
          } else if ((takings.get(id) ?? 0) < 4) {
            const cost = (units?.length ?? 0) + more
            const hold = { id, ttlUs: 1e12, kind: 'reserve' as const }
            if (subject.take(cost, nowUs, hold).allowed) {
              open.set(id, [...(units ?? []), ...new Array<number>(more).fill(nowUs)])
              takings.set(id, (takings.get(id) ?? 0) + (more > 0 || units === undefined ? 1 : 0))
            }
          }
          const inWindow = [...kept, ...[...open.values()].flat()].filter((at) => at > nowUs - 1_000_000)
          expect(subject.look(0, nowUs).statuses[0]![0]!.remaining).toBe(Math.max(0, 12 - inWindow.length))
        }
      }),
      { numRuns: 2000 },
    )
  })
})
