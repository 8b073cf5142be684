import { describe, expect, it } from 'vitest'
import { compileLimit, compileLimits } from './testing/compile-limits.ts'

const names = (spec: unknown) => compileLimits(spec, 'limits').map(({ name }) => name)

describe('limits', () => {
  it('in short form are fixed windows from the first hit', () => {
    const limits = compileLimits({ rps: 20, rpm: 1000, rph: 50_000, rpd: 100_000 }, 'limits')
    expect(limits.map(({ name, amount, periodMs }) => [name, amount, periodMs])).toEqual([
      ['rps', 20, 1000],
      ['rpm', 1000, 60_000],
      ['rph', 50_000, 3_600_000],
      ['rpd', 100_000, 86_400_000],
    ])
    expect(limits.every(({ algorithm, aligned }) => algorithm === 'fixed-window' && !aligned)).toBe(true)
  })

  it('in long form say everything', () => {
    expect(compileLimit({ amount: 5, per: '15m', algorithm: 'gcra', burst: 2, name: 'slow' }, 'limit')).toEqual({
      name: 'slow',
      algorithm: 'gcra',
      amount: 5,
      periodMs: 900_000,
      burst: 2,
      intervalUs: 180_000_000,
      aligned: false,
      calendar: undefined,
      zone: undefined,
      pace: undefined,
    })
    expect(compileLimit({ amount: 5, per: '1500ms', align: 'clock' }, 'limit').aligned).toBe(true)
    expect(compileLimit({ amount: 9, algorithm: 'concurrency' }, 'limit')).toMatchObject({ periodMs: 0, amount: 9 })
    expect(compileLimit({ amount: 9, per: 'month', zone: 'Europe/Berlin' }, 'limit')).toMatchObject({
      algorithm: 'calendar',
      calendar: 'month',
      zone: 'Europe/Berlin',
    })
  })

  it('have names of their own', () => {
    expect(names([{ rps: 1 }, { amount: 1, per: '1h30m' }, { amount: 1, per: 'day' }])).toEqual([
      'rps',
      'per-1h30m',
      'per-day',
    ])
    expect(() => names([{ rps: 1 }, { rps: 2 }])).toThrow('two limits are called "rps"')
  })

  it('take the algorithm and burst of their rule', () => {
    const [limit, own] = compileLimits([{ rps: 10 }, { amount: 1, per: 'day', algorithm: 'calendar' }], 'limits', {
      algorithm: 'gcra',
      burst: 3,
    })
    expect(limit).toMatchObject({ algorithm: 'gcra', burst: 3, intervalUs: 100_000 })
    expect(own).toMatchObject({ algorithm: 'calendar', calendar: 'day', burst: 1 })
    expect(compileLimit({ rpd: 5 }, 'limit', { algorithm: 'calendar' })).toMatchObject({ calendar: 'day', zone: 'UTC' })
  })

  it('keep a rate that does not divide its period below, never above', () => {
    expect(compileLimit({ rps: 7, algorithm: 'gcra' }, 'limit').intervalUs).toBe(142_858)
  })

  it('of zero deny everything, except by gcra, which has no such thing', () => {
    expect(compileLimit({ rpm: 0 }, 'limit').amount).toBe(0)
    expect(() => compileLimit({ rpm: 0, algorithm: 'gcra' }, 'limit')).toThrow('to deny everything use fixed-window')
  })

  it.each([
    [{ amount: 1, per: '0s' }, 'limits.per is "0s"; use a period from 1ms to 400d'],
    [{ amount: 1, per: '0.5ms' }, 'limits.per is "0.5ms"; use a whole number of milliseconds'],
    [{ amount: 1, per: 60 }, 'limits.per is 60; say the unit: "60s" for seconds, "60ms" for milliseconds'],
    [{ amount: 1, per: '401d' }, 'limits.per is "401d"; use a period from 1ms to 400d'],
    [{ amount: 1, per: 'fortnight' }, 'limits.per is "fortnight"; use a number with a unit'],
    [{ amount: 1 }, 'limits.per is undefined; say per how long'],
    [{ per: '1m' }, 'give rps, rpm, rph or rpd, or amount and per'],
    [{ rps: -1 }, 'limits.rps is -1; use a whole number of at least 0'],
    [{ rps: 0.1 }, 'limits.rps is 0.1; use a whole number'],
    [{ rps: '5' }, 'limits.rps is "5"; use a number'],
    [{ rps: Number.NaN }, 'limits.rps is NaN; use a number'],
    [{ rps: Number.POSITIVE_INFINITY }, 'limits.rps is Infinity; use a number'],
    [{ rps: 2 ** 53 }, 'limits.rps is 9007199254740992; use'],
    [{ rps: 1e13 + 1 }, 'use a whole number of at most 10000000000000'],
    [{ rps: 1, amount: 2 }, 'limits.amount is 2; it belongs to the long form'],
    [{ amount: 1, per: '1d', zone: 'UTC' }, 'limits.zone is "UTC"; only calendar limits have a zone'],
    [{ amount: 1, per: 'day', zone: 'Mars/Olympus' }, 'use an IANA zone'],
    [{ amount: 1, per: 'day', algorithm: 'gcra' }, 'for gcra write a length such as 1d'],
    [{ amount: 1, per: '1d', algorithm: 'calendar' }, 'a calendar limit needs per: day, week or month'],
    [{ rps: 1, algorithm: 'calendar' }, 'a calendar limit needs per: day, week or month'],
    [{ amount: 1, per: '1s', algorithm: 'concurrency' }, 'has no period'],
    [{ amount: 10_001, algorithm: 'concurrency' }, 'use at most 10000'],
    [{ rps: 1, burst: 2 }, 'only gcra limits have a burst'],
    [{ rps: 1, algorithm: 'gcra', align: 'clock' }, 'only fixed-window limits can be aligned'],
    [{ rps: 600_001, algorithm: 'gcra' }, 'gcra spends in whole microseconds'],
    [{ amount: 1, per: '400d', algorithm: 'gcra', burst: 1e9 }, 'would take more than 4000d to recover'],
    [{ rmp: 1 }, 'did you mean "rpm"?'],
    [[], 'list at least one'],
    [Array.from({ length: 17 }, (_, i) => ({ amount: 1, per: i + 1 })), 'list at most 16'],
    [7, 'limits is 7; use an object, or a list'],
    [null, 'limits is null; use an object, or a list'],
  ])('refuse %j', (spec, message) => {
    expect(() => compileLimits(spec, 'limits')).toThrow(message)
  })
})
