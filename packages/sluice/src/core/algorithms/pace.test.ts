import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import type { LimitSpec, PaceSpec } from '../../policy/document/document.ts'
import type { Answer, Charge } from '../engine/ask.ts'
import { decide } from '../engine/engine.ts'
import { type CalendarUnit, calendarPeriod } from './calendar-period.ts'
import { curveEnd, plannedAt, positionAt, segmentAt } from './pace-curve.ts'
import { blankState, type State } from './state.ts'

/** One subject with one paced limit. */
class Subject {
  readonly charge: Charge
  readonly state: State

  constructor(spec: LimitSpec, state?: State) {
    const rule = compilePolicy({ service: 'pace', rules: [{ name: 'r', limits: spec }] }).rules[0]!
    const limits = rule.limitsFor('s', undefined, 0)
    this.charge = { rule, subject: 's', limits, cost: 1 }
    this.state = state ?? blankState(limits.fields)
  }

  /** The same subject under another version of its limit. */
  under(spec: LimitSpec): Subject {
    return new Subject(spec, this.state)
  }

  /** Takes up to so many units. */
  takeMany(copies: number, nowMs: number): number {
    return this.take(1, nowMs, copies).granted
  }

  take(cost: number, nowMs: number, copies = 1): Answer {
    const charges = [{ ...this.charge, cost }]
    return decide({ kind: 'take', charges, copies, hold: undefined }, [this.state], nowMs * 1000)
  }

  look(cost: number, nowMs: number): Answer {
    const state = { n: this.state.n.slice(), at: 0, extra: undefined }
    return decide({ kind: 'peek', charges: [{ ...this.charge, cost }] }, [state], nowMs * 1000)
  }

  get limit() {
    return this.charge.limits.limits[1]!
  }

  planned(nowMs: number): number {
    return plannedAt(this.limit, positionAt(segmentAt(this.limit, nowMs), nowMs))
  }
}

// Days of 24, 23 and 25 hours, a change of half an hour, and days that begin at 01:00 or whose midnight comes twice.
const days = [
  ['UTC', '2026-06-01T12:00:00Z', 24],
  ['Europe/Berlin', '2026-03-29T12:00:00Z', 23],
  ['Europe/Berlin', '2026-10-25T12:00:00Z', 25],
  ['America/New_York', '2026-03-08T15:00:00Z', 23],
  ['Australia/Lord_Howe', '2026-04-05T00:00:00Z', 24.5],
  ['Australia/Lord_Howe', '2026-10-04T00:00:00Z', 23.5],
  ['Africa/Cairo', '2026-04-24T12:00:00Z', 23],
  ['America/Santiago', '2026-09-06T15:00:00Z', 23],
  // The clock changes within an hour, from 02:45 to 03:45 and back.
  ['Pacific/Chatham', '2026-09-27T00:00:00Z', 23],
  ['Pacific/Chatham', '2026-04-05T00:00:00Z', 25],
  ['Asia/Kathmandu', '2026-06-01T12:00:00Z', 24],
] as const
const weights = fc.array(fc.oneof(fc.nat(9), fc.double({ min: 0, max: 3, noNaN: true })), {
  minLength: 24,
  maxLength: 24,
})
const curve = fc.oneof(
  fc.constant('even' as const),
  weights.map(([, ...rest]) => [1, ...rest]),
)
const day = fc.constantFrom(...days)
const pace: fc.Arbitrary<PaceSpec> = fc.record(
  { curve, burst: fc.integer({ min: 1, max: 500 }), catchUp: fc.constantFrom(1, 1.25, 1.5, 4) },
  { requiredKeys: ['curve'] },
)
const amount = fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 1e7 }), fc.constant(1e13))

describe('a paced limit', () => {
  it('never spends ahead of the plan plus the burst, nor faster than it may catch up, nor more than the total', () => {
    const demand = fc.array(
      fc.record({
        gap: fc.oneof(fc.double({ min: 0, max: 0.01, noNaN: true }), fc.double({ min: 0, max: 0.3, noNaN: true })),
        units: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 100 }), fc.constant(1e13)),
      }),
      { minLength: 1, maxLength: 60 },
    )
    fc.assert(
      fc.property(day, amount, pace, demand, ([zone, at], total, spec, asked) => {
        const subject = new Subject({ amount: total, per: 'day', zone, pace: spec })
        const period = calendarPeriod('day', zone, Date.parse(at))
        const { burst } = subject.limit
        const catchUp = spec.catchUp ?? 1.5
        const spends: { planned: number; units: number }[] = []
        let nowMs = period.startMs
        let spent = 0
        for (const { gap, units } of asked) {
          nowMs = Math.floor(nowMs + gap * (period.endMs - period.startMs))
          if (nowMs >= period.endMs) break
          const granted = subject.takeMany(units, nowMs)
          spent += granted
          const planned = subject.planned(nowMs)
          expect(spent).toBeLessThanOrEqual(Math.min(total, planned + burst))
          spends.push({ planned, units: granted })
          // In every stretch that ends here; whole units of the plan can differ from it by less than one at each end.
          let inStretch = 0
          for (let s = spends.length - 1; s >= 0; s--) {
            inStretch += spends[s]!.units
            const allowed = burst + catchUp * (planned - spends[s]!.planned + 1)
            expect(inStretch).toBeLessThanOrEqual(Math.ceil(allowed * (1 + 1e-9)))
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('is used up at the end of the day, to 1% or one unit, when it is asked whenever it says that units are free', {
    timeout: 60_000,
  }, () => {
    fc.assert(
      fc.property(day, fc.integer({ min: 1, max: 200_000 }), pace, ([zone, at], total, spec) => {
        const subject = new Subject({ amount: total, per: 'day', zone, pace: { ...spec, burst: undefined } })
        const period = calendarPeriod('day', zone, Date.parse(at))
        let spent = 0
        for (let nowMs = period.startMs; nowMs < period.endMs; nowMs += untilNext(subject, nowMs))
          spent += subject.takeMany(total, nowMs)
        spent += subject.takeMany(total, period.endMs - 1)
        expect(spent).toBeGreaterThanOrEqual(Math.min(total * 0.99, total - 1))
        expect(spent).toBeLessThanOrEqual(total)
      }),
      { numRuns: 25 },
    )
  })

  // A full bucket gains nothing. After a take less than one unit is free, and a bucket of several units, which hold a
  // minute of the plan, is not full 15 s later. A bucket of one unit may be, and with a catchUp of 1 nothing makes up
  // for that: whoever comes a quarter of an interval late each time spends a fifth less than planned.
  const untilNext = (subject: Subject, nowMs: number): number => {
    if (subject.limit.burst > 1) return 15_000
    const waits = subject.look(1, nowMs).statuses[0]!.map(({ retryAfterMs }) => retryAfterMs)
    return Math.max(1, ...waits)
  }

  it.each(days)('plans every minute of the day in %s at %s by the hour that clocks show', (zone, at) => {
    const curve = Array.from({ length: 24 }, (_, hour) => (hour * 7) % 5)
    const { limit } = new Subject({ amount: 1_000_000, per: 'day', zone, pace: { curve } })
    const period = calendarPeriod('day', zone, Date.parse(at))
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', hour: 'numeric' })
    const minutes = Array.from(
      { length: (period.endMs - period.startMs) / 60_000 },
      (_, minute) => period.startMs + minute * 60_000,
    )
    const weights = minutes.map((atMs) => curve[Number(format.format(atMs))]!)
    const total = weights.reduce((sum, weight) => sum + weight)
    let sum = 0
    for (const [m, atMs] of minutes.entries()) {
      const planned = plannedAt(limit, positionAt(segmentAt(limit, atMs), atMs))
      expect(Math.abs(planned - (1_000_000 * sum) / total), new Date(atMs).toISOString()).toBeLessThan(2)
      sum += weights[m]!
    }
  })

  it.each(days)('spreads the whole amount over the day in %s at %s, which has %d hours', (zone, at, hours) => {
    for (const curve of ['even', Array.from({ length: 24 }, (_, h) => h + 1)] as const) {
      const { limit } = new Subject({ amount: 1000, per: 'day', zone, pace: { curve } })
      const period = calendarPeriod('day', zone, Date.parse(at))
      expect((period.endMs - period.startMs) / 3_600_000).toBe(hours)
      let last = 0
      for (let ms = period.startMs; ms < period.endMs; ms += 60_000) {
        const position = positionAt(segmentAt(limit, ms), ms)
        expect(position).toBeGreaterThanOrEqual(last)
        last = position
      }
      expect(positionAt(segmentAt(limit, period.startMs), period.startMs)).toBe(0)
      const final = segmentAt(limit, period.endMs - 1)
      expect([final.to, final.endMs]).toEqual([curveEnd, period.endMs])
    }
  })

  it('gives an hour that comes twice two parts of the day, and none to one that is skipped', () => {
    const onlyTwo = Array.from({ length: 24 }, (_, h) => (h === 2 ? 1 : 0))
    const { limit } = new Subject({ amount: 100, per: 'day', zone: 'Europe/Berlin', pace: { curve: onlyTwo } })
    const planned = (time: string) => plannedAt(limit, positionAt(segmentAt(limit, Date.parse(time)), Date.parse(time)))
    // On 25 October it is 02:00 at 00:00Z and again at 01:00Z.
    expect(['00:00', '00:30', '01:00', '01:30', '02:00'].map((at) => planned(`2026-10-25T${at}:00Z`))).toEqual([
      0, 25, 50, 75, 100,
    ])
    // On 29 March there is no 02:00: the last hour of the day gets everything.
    expect(planned('2026-03-29T20:59:00Z')).toBe(0)
    expect(planned('2026-03-29T21:30:00Z')).toBe(50)
  })

  it('says when a cost will pass: then, and not before', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<CalendarUnit>('day', 'week', 'month'),
        day,
        fc.integer({ min: 1, max: 100_000 }),
        pace,
        fc.array(fc.tuple(fc.nat(9_000_000), fc.integer({ min: 1, max: 50 })), { maxLength: 20 }),
        fc.integer({ min: 1, max: 50 }),
        (per, [zone, at], total, spec, spends, cost) => {
          const subject = new Subject({ amount: total, per, zone, pace: spec })
          let nowMs = calendarPeriod(per, zone, Date.parse(at)).startMs
          for (const [gap, units] of spends) {
            nowMs += gap
            subject.takeMany(units, nowMs)
          }
          const answer = subject.look(cost, nowMs)
          const waitMs = Math.max(...answer.statuses[0]!.map(({ retryAfterMs }) => retryAfterMs))
          if (answer.allowed) return
          if (waitMs === Infinity) {
            expect(cost).toBeGreaterThan(subject.limit.burst)
            return
          }
          expect(waitMs).toBeGreaterThan(0)
          expect(subject.look(cost, nowMs + waitMs).allowed).toBe(true)
          expect(subject.look(cost, nowMs + waitMs - 1).allowed).toBe(false)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('catches up at one and a half times the planned rate after a late start, without a burst', () => {
    const subject = new Subject({ amount: 1440 * 10, per: 'day', pace: { curve: 'even' } })
    const start = Date.UTC(2026, 5, 1)
    let spent = 0
    const perMinute: number[] = []
    for (let minute = 12 * 60; minute < 24 * 60; minute++) {
      let inMinute = 0
      for (let second = 0; second < 60; second++)
        inMinute += subject.takeMany(1e6, start + (minute * 60 + second) * 1000)
      spent += inMinute
      perMinute.push(inMinute)
    }
    expect(perMinute[0]).toBeLessThanOrEqual(25)
    expect(Math.max(...perMinute.slice(1))).toBe(15)
    expect(spent).toBeGreaterThanOrEqual(12 * 60 * 15)
  })

  it('does not jump when the budget is changed in the middle of the day', () => {
    const start = Date.UTC(2026, 5, 1)
    const before = new Subject({ amount: 1440, per: 'day', pace: {} })
    for (let minute = 0; minute < 720; minute++) before.takeMany(1, start + minute * 60_000)
    const after = new Subject({ amount: 14_400, per: 'day', pace: {} })
    after.state.n.set(before.state.n)
    let inFirstMinute = 0
    for (let second = 0; second < 60; second++)
      inFirstMinute += after.takeMany(1e6, start + 720 * 60_000 + second * 1000)
    expect(inFirstMinute).toBeLessThanOrEqual(10 + 15)
  })

  it.each([
    ['a lowered amount', { amount: 144, per: 'day', pace: { burst: 100 } }],
    ['a raised amount', { amount: 1_440_000, per: 'day', pace: { burst: 100 } }],
    ['a lower catchUp', { amount: 14_400, per: 'day', pace: { burst: 100, catchUp: 1 } }],
    ['a higher catchUp', { amount: 14_400, per: 'day', pace: { burst: 100, catchUp: 100 } }],
  ] as const)('does not get another burst by %s', (_what, changed) => {
    const noon = Date.UTC(2026, 5, 1, 12)
    const subject = new Subject({ amount: 14_400, per: 'day', pace: { burst: 100 } })
    expect(subject.takeMany(1000, noon)).toBe(100)
    expect(subject.under(changed).takeMany(1000, noon)).toBe(0)
    // Nor after a while in which nobody asked: the lower of both rates holds since the last unit.
    const { amount, pace } = changed
    const perMinute = Math.min(15, (amount / 1440) * ('catchUp' in pace ? pace.catchUp : 1.5))
    expect(subject.under(changed).takeMany(1000, noon + 120_000)).toBeLessThanOrEqual(2 * perMinute)
  })

  it('holds its bound also when amount, burst and catchUp change while it runs', () => {
    const version = fc.record({
      total: amount,
      burst: fc.integer({ min: 1, max: 500 }),
      catchUp: fc.constantFrom(1, 1.5, 4),
    })
    const step = fc.record({
      version: fc.nat(2),
      gap: fc.oneof(
        fc.constant(0),
        fc.double({ min: 0, max: 0.003, noNaN: true }),
        fc.double({ min: 0, max: 0.2, noNaN: true }),
      ),
      units: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100 }), fc.constant(1e13)),
    })
    const steps = fc.array(step, { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(day, curve, fc.tuple(version, version, version), steps, ([zone, at], shape, versions, asked) => {
        const specs = versions.map(
          ({ total, burst, catchUp }) =>
            ({ amount: total, per: 'day', zone, pace: { curve: shape, burst, catchUp } }) as const,
        )
        let subject = new Subject(specs[0]!)
        const period = calendarPeriod('day', zone, Date.parse(at))
        // What drained until now, in units: between two takes at the lower rate of their versions, because nobody knows
        // when between them the version changed.
        let drained = 0
        let last = { position: 0, interval: 0 }
        let spent = 0
        let nowMs = period.startMs
        const takes: { drained: number; units: number }[] = []
        for (const { version, gap, units } of asked) {
          nowMs = Math.floor(nowMs + gap * (period.endMs - period.startMs))
          if (nowMs >= period.endMs) break
          subject = subject.under(specs[version]!)
          const granted = subject.takeMany(units, nowMs)
          if (granted === 0) continue
          spent += granted
          const { interval } = subject.limit.pace!
          const position = positionAt(segmentAt(subject.limit, nowMs), nowMs)
          drained += (position - last.position) / Math.max(interval, last.interval)
          last = { position, interval }
          const { burst, amount: total } = subject.limit
          expect(spent).toBeLessThanOrEqual(Math.min(total, subject.planned(nowMs) + burst))
          takes.push({ drained, units: granted })
          let inStretch = 0
          for (const take of takes.toReversed()) {
            inStretch += take.units
            expect(inStretch).toBeLessThanOrEqual(Math.floor((burst + drained - take.drained) * (1 + 1e-9) + 1e-9))
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  it('does not get another burst by giving everything back', () => {
    const atMs = Date.UTC(2026, 5, 1, 12)
    const subject = new Subject({ amount: 2400, per: 'day', pace: { burst: 10 } })
    expect(subject.takeMany(50, atMs)).toBe(10)
    const charges = [{ ...subject.charge, cost: 10 }]
    decide({ kind: 'refund', charges, takenUs: undefined }, [subject.state], atMs * 1000)
    expect(subject.takeMany(50, atMs)).toBe(0)
    expect(subject.look(1, atMs).statuses[0]![1]!.pace!.spent).toBe(0)
    // What came back may be spent at the rate of catching up: 150 units per hour.
    expect(subject.takeMany(50, atMs + 60_000)).toBe(2)
  })

  it('says where on its curve it stands', () => {
    const subject = new Subject({ amount: 2400, per: 'day', pace: { burst: 50 } })
    const noon = Date.UTC(2026, 5, 1, 12)
    subject.takeMany(30, noon)
    expect(subject.look(1, noon).statuses[0]![1]).toMatchObject({
      name: 'per-day-pace',
      remaining: 20,
      pace: { planned: 1200, spent: 30, burst: 50 },
    })
  })

  it('is refused on other limits, without weights, and with a catchUp below 1', () => {
    const compile = (limits: unknown) => () => compilePolicy({ service: 'p', rules: [{ name: 'r', limits }] })
    expect(compile({ amount: 5, per: '1d', pace: {} })).toThrow('only calendar limits can be paced')
    expect(compile({ amount: 5, per: 'day', pace: { curve: Array(24).fill(0) } })).toThrow('a weight above 0')
    expect(compile({ amount: 5, per: 'day', pace: { curve: [1, 2] } })).toThrow('pace.curve')
    expect(compile({ amount: 5, per: 'day', pace: { catchUp: 0.5 } })).toThrow('pace.catchUp')
    expect(compile({ amount: 5, per: 'day', pace: { catchup: 2 } })).toThrow('catchUp')
  })

  it.each([
    [{ catchUp: 0.5 }, 'pace.catchUp is 0.5; use a number from 1 to 100, such as 1.5'],
    [{ catchUp: 1000 }, 'pace.catchUp is 1000; use a number from 1 to 100, such as 1.5'],
    [{ curve: [1, 2] }, 'use "even", or list 24 numbers, the weight of each hour of the day'],
    [{ curve: new Array(25).fill(1) }, 'use "even", or list 24 numbers, the weight of each hour of the day'],
    [{ curve: new Array(24).fill(-1) }, 'pace.curve[0] is -1; use a number from 0 to 1000000'],
  ])('is refused with what would be right: %j', (wrong, message) => {
    expect(() => new Subject({ amount: 100, per: 'day', pace: wrong as PaceSpec })).toThrow(message)
  })

  it('is decided alike alone, in short, and beside another limit, one by one', () => {
    const steps = fc.array(
      fc.record({ gap: fc.nat(4_000_000), cost: fc.nat(40), copies: fc.integer({ min: 1, max: 5 }) }),
    )
    fc.assert(
      fc.property(day, fc.integer({ min: 0, max: 50_000 }), pace, steps, ([zone, at], total, spec, taken) => {
        const limit = { amount: total, per: 'day', zone, pace: spec }
        const alone = new Subject(limit)
        const beside = new Subject([limit, { amount: 1e12, per: '1s', name: 'other' }] as never)
        expect([alone.charge.limits.paced, beside.charge.limits.paced]).toEqual([true, false])
        let nowMs = calendarPeriod('day', zone, Date.parse(at)).startMs
        for (const { gap, cost, copies } of taken) {
          nowMs += gap
          const general = beside.take(cost, nowMs, copies)
          expect(alone.take(cost, nowMs, copies)).toEqual({ ...general, statuses: [general.statuses[0]!.slice(0, 2)] })
        }
      }),
      { numRuns: 300 },
    )
  })
})
