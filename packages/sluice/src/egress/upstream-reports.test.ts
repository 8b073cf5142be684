import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UpstreamCounts } from './upstream-reports.ts'

test('the rate is that of the last ten whole seconds', () => {
  const counts = new UpstreamCounts(-60_000)
  for (const atMs of [500, 1000, 1999, 2000]) counts.grantedAfter(0, atMs)
  expect(counts.rate(2000)).toBe(0.3)
  expect(counts.rate(2999)).toBe(0.3)
  counts.grantedAfter(0, 11_000)
  expect(counts.rate(11_999)).toBe(0.3)
  expect(counts.rate(12_000)).toBe(0.2)
  expect(counts.rate(22_000)).toBe(0)
  expect(counts.granted).toBe(5)
})

test('the rate is right from the first seconds on, wherever they begin', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.5, max: 500, noNaN: true }),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.double({ min: 2000, max: 60_000, noNaN: true }),
      (perSecond, begunMs, seenMs) => {
        const counts = new UpstreamCounts(begunMs)
        const everyMs = 1000 / perSecond
        for (let atMs = everyMs / 2; atMs <= seenMs; atMs += everyMs) counts.grantedAfter(0, begunMs + atMs)
        expect(Math.abs(counts.rate(begunMs + seenMs) - perSecond)).toBeLessThan(1.01)
      },
    ),
  )
  const idle = new UpstreamCounts(0.5)
  expect([0.6, 900, 1e9].map((atMs) => idle.rate(atMs))).toEqual([0, 0, 0])
})

test('waits are those of the last thousand grants', () => {
  const counts = new UpstreamCounts(-60_000)
  expect(counts.waits()).toEqual({ p50: 0, p99: 0, max: 0 })
  counts.grantedAfter(5000, 0)
  for (let grant = 1; grant <= 999; grant++) counts.grantedAfter(grant, 0)
  expect(counts.waits()).toEqual({ p50: 501, p99: 991, max: 5000 })
  counts.grantedAfter(7, 0)
  expect(counts.waits().max).toBe(999)
})
