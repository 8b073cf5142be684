import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Rate } from './rate.ts'

test('is right from the first second on, and within one event, wherever it is looked at', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.5, max: 500, noNaN: true }),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
      fc.double({ min: 1000, max: 60_000, noNaN: true }),
      (perSecond, begunMs, seenMs) => {
        const rate = new Rate(begunMs)
        const everyMs = 1000 / perSecond
        for (let atMs = everyMs / 2; atMs <= seenMs; atMs += everyMs) rate.add(1, begunMs + atMs)
        expect(Math.abs(rate.perSecond(begunMs + seenMs) - perSecond)).toBeLessThan(1.06)
      },
    ),
  )
})

test('a burst in the first moment is one of a second, and is forgotten in a minute', () => {
  const rate = new Rate(0.5)
  rate.add(1000, 0.6)
  expect(rate.perSecond(0.6)).toBeCloseTo(1051, 0)
  expect(rate.perSecond(60_000)).toBeLessThan(1)
  expect(rate.perSecond(3_600_000)).toBeLessThan(1e-6)
})
