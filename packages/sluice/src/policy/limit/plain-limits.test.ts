import { describe, expect, it } from 'vitest'
import { limitsSpec } from '../document/schema/schema.ts'
import { arePlainLimits } from './plain-limits.ts'

const isRight = (limits: unknown): boolean => limitsSpec.safeParse(limits).success

const units = [0, 1, 100, 1e13, 1e13 + 1, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, true]
const texts = ['1m', 'day', '', 7, null, {}]
const values: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(['rps', 'rpm', 'rph', 'rpd', 'amount', 'burst'].map((name) => [name, units])),
  per: texts,
  zone: texts,
  name: ['steady', 'with space', '', 7],
  algorithm: ['fixed-window', 'sliding-window', 'sliding-log', 'gcra', 'calendar', 'concurrency', 'pace', 7],
  align: ['first-hit', 'clock', 'hour'],
  pace: [{}, { burst: 0 }, 7],
  rmp: [100],
}
const single = Object.entries(values).flatMap(([name, each]) => each.map((value) => ({ [name]: value })))
const pairs = single.flatMap((a) => single.map((b) => ({ ...a, ...b })))
const others = [7, 'rpm', null, undefined, [], [7], [[]], new Date(), new Map(), {}, [{}], Array(17).fill({ rpm: 1 })]

describe('limits that need no schema', () => {
  it('are never such that the schema would refuse', () => {
    const wrong = [...single, ...pairs, ...pairs.map((each) => [each]), ...others].filter((each) =>
      arePlainLimits(each),
    )
    expect(wrong.length).toBeGreaterThan(500)
    expect(wrong.filter((each) => !isRight(each))).toEqual([])
  })

  it.each([
    { rpm: 100 },
    { rps: 20, rpm: 1000, rph: 50_000, rpd: 100_000 },
    { amount: 300, per: '15m', algorithm: 'gcra', burst: 50 },
    [{ rps: 5 }, { amount: 10, algorithm: 'concurrency' }],
    { amount: 9, per: 'month', zone: 'Europe/Berlin' },
  ])('are all common forms: %j', (limits) => {
    expect([arePlainLimits(limits), isRight(limits)]).toEqual([true, true])
  })
})
