import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyOf, failureRate, failuresInARow, RateWindow, slowCallRate } from './strategy.ts'

const rate = { ratio: 0.5, windowMs: 1000, minCalls: 4 }

describe('the failure rate', () => {
  test('does not open with fewer calls than the minimum, however many fail', () => {
    const strategy = failureRate(rate)
    expect([1, 2, 3, 4].map((ms) => strategy.failed(ms, 0))).toEqual([false, false, false, true])
  })

  test('opens exactly at the ratio', () => {
    const strategy = failureRate({ ratio: 0.1, windowMs: 1000, minCalls: 30 })
    const opens = Array.from({ length: 30 }, (_, i) => (i < 3 ? strategy.failed(0, 0) : strategy.succeeded(0, 0)))
    expect(opens.indexOf(true)).toBe(29)
  })

  test('does not count failures from before a pause', () => {
    const strategy = failureRate(rate)
    for (const ms of [0, 100, 200]) strategy.failed(ms, 0)
    expect(strategy.failed(5000, 0)).toBe(false)
    expect([1, 2, 3].map(() => strategy.succeeded(5000, 0))).toEqual([false, false, false])
  })

  test('counts nothing twice after a reset', () => {
    const strategy = failureRate(rate)
    for (let i = 0; i < 4; i++) strategy.failed(0, 0)
    strategy.reset()
    expect([1, 2, 3, 4].map(() => strategy.failed(0, 0))).toEqual([false, false, false, true])
  })
})

test('the slow-call rate counts slow successes and slow failures alike', () => {
  const strategy = slowCallRate({ ...rate, slowMs: 100 })
  expect([
    strategy.succeeded(0, 100),
    strategy.failed(0, 99),
    strategy.succeeded(0, 0),
    strategy.failed(0, 100),
  ]).toEqual([false, false, false, true])
})

test('of several strategies each sees every call, and one is enough to open', () => {
  const strategy = anyOf([failuresInARow(3), failureRate({ ...rate, minCalls: 5 })])
  expect(strategy.timed).toBe(true)
  expect([strategy.failed(0, 0), strategy.failed(0, 0), strategy.failed(0, 0)]).toEqual([false, false, true])
  strategy.reset()
  const failing = [true, true, false, true, true]
  expect(failing.map((fails) => (fails ? strategy.failed(0, 0) : strategy.succeeded(0, 0)))).toEqual([
    ...[false, false, false, false, true],
  ])
})

test('a window gives the same result as a count of all recent calls, wherever its clock starts and even if it steps back', () => {
  const step = fc.record({ waitMs: fc.integer({ min: -30, max: 130 }), isBad: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: -5000, max: 5000 }), (steps, startMs) => {
      const window = new RateWindow(1000, 5, 0.5)
      const calls: { bucket: number; isBad: boolean }[] = []
      let nowMs = startMs
      let latest = -Infinity
      for (const { waitMs, isBad } of steps) {
        nowMs += waitMs
        latest = Math.max(latest, Math.floor(nowMs / 100))
        calls.push({ bucket: latest, isBad })
        const recent = calls.filter(({ bucket }) => bucket > latest - 10)
        const bad = recent.filter((call) => call.isBad).length
        expect(window.add(isBad, nowMs)).toBe(recent.length >= 5 && bad / recent.length >= 0.5)
      }
    }),
  )
})
