import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Latencies, latencyQuantile } from './latencies.ts'

describe('latencies', () => {
  it('tell a quantile within a fifth', () => {
    const latencies = new Latencies(0)
    const times = Array.from({ length: 10_000 }, (_, i) => 0.02 * 1.0008 ** i)
    for (const tookMs of times) latencies.add(tookMs, 0)
    for (const share of [0.1, 0.5, 0.9, 0.99]) {
      const found = latencyQuantile(latencies.counts(0), share)!
      expect(Math.abs(Math.log(found / times[Math.floor(share * 10_000)]!))).toBeLessThan(Math.log(1.2))
    }
  })

  it('tell a quantile of any times, also of one, within a factor of 1.42', () => {
    const time = fc.double({ min: 0.01, max: 3700, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(fc.record({ tookMs: time, times: fc.integer({ min: 1, max: 200 }) }), { minLength: 1, maxLength: 20 }),
        fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1),
        (seen, share) => {
          const latencies = new Latencies(0)
          for (const { tookMs, times } of seen) latencies.add(tookMs, 0, times)
          const all = seen.flatMap(({ tookMs, times }) => new Array<number>(times).fill(tookMs)).sort((a, b) => a - b)
          const found = latencyQuantile(latencies.counts(0), share)!
          const exact = all[Math.max(0, Math.ceil(share * all.length) - 1)]!
          // Below the first bound there is no ratio.
          expect(found / exact).toBeLessThan(1.42)
          if (exact > 0.0142) expect(exact / found).toBeLessThan(1.42)
        },
      ),
    )
  })

  it('are forgotten after a minute', () => {
    const latencies = new Latencies(0)
    latencies.add(5, 0)
    expect(latencyQuantile(latencies.counts(29_999), 0.5)).toBeGreaterThan(4)
    latencies.add(1, 31_000)
    expect(latencies.counts(31_000).reduce((a, b) => a + b)).toBe(2)
    expect(latencyQuantile(latencies.counts(100_000), 0.5)).toBeUndefined()
  })

  it('keep extremes in the outermost buckets', () => {
    const latencies = new Latencies(0)
    for (const tookMs of [0, -1, 1e9]) latencies.add(tookMs, 0)
    expect(latencies.counts(0).reduce((a, b) => a + b)).toBe(3)
  })
})
