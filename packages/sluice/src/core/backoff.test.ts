import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from './backoff.ts'

describe('backoffMs', () => {
  it('doubles up to the maximum', () => {
    const longest = [0, 1, 2, 3, 10, 5000].map((attempt) => backoffMs(attempt, () => 1, { baseMs: 100, maxMs: 1000 }))
    expect(longest).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  it('leaves nothing to chance, or everything, when asked to', () => {
    expect([0, 0.5, 1].map((chance) => backoffMs(2, () => chance, { baseMs: 100, jitter: 0 }))).toEqual([400, 400, 400])
    expect([0, 0.5, 1].map((chance) => backoffMs(2, () => chance, { baseMs: 100, jitter: 1 }))).toEqual([0, 200, 400])
  })

  it('leaves half of the wait to chance', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, chance) => {
        const longest = backoffMs(attempt, () => 1)
        const waitMs = backoffMs(attempt, () => chance)
        expect(waitMs).toBeGreaterThanOrEqual(longest / 2)
        expect(waitMs).toBeLessThanOrEqual(longest)
      }),
    )
  })
})
