import { expect, test } from 'vitest'
import { UpstreamCounts } from './upstream-reports.ts'

test('the rate is that of the last ten whole seconds', () => {
  const counts = new UpstreamCounts()
  for (const atMs of [500, 1000, 1999, 2000]) counts.grantedAfter(0, atMs)
  expect(counts.rate(2000)).toBe(0.3)
  expect(counts.rate(2999)).toBe(0.3)
  counts.grantedAfter(0, 11_000)
  expect(counts.rate(11_999)).toBe(0.3)
  expect(counts.rate(12_000)).toBe(0.2)
  expect(counts.rate(22_000)).toBe(0)
  expect(counts.granted).toBe(5)
})

test('waits are those of the last thousand grants', () => {
  const counts = new UpstreamCounts()
  expect(counts.waits()).toEqual({ p50: 0, p99: 0, max: 0 })
  counts.grantedAfter(5000, 0)
  for (let grant = 1; grant <= 999; grant++) counts.grantedAfter(grant, 0)
  expect(counts.waits()).toEqual({ p50: 501, p99: 991, max: 5000 })
  counts.grantedAfter(7, 0)
  expect(counts.waits().max).toBe(999)
})
