import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HotKeys } from './hot-keys.ts'
import { RecentHotKeys } from './recent-hot-keys.ts'

describe('hot keys', () => {
  test('never hold more than their capacity, and bound every count', () => {
    const streams = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 5 })), {
      maxLength: 500,
    })
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 10 }), (stream, capacity) => {
        const hot = new HotKeys(capacity)
        const exact = new Map<string, number>()
        let total = 0
        for (const [id, count] of stream) {
          hot.add(`k${id}`, count)
          exact.set(`k${id}`, (exact.get(`k${id}`) ?? 0) + count)
          total += count
        }
        const top = hot.top(100)
        expect(top.length).toBe(Math.min(capacity, exact.size))
        expect(top.map(({ count }) => count)).toEqual(top.map(({ count }) => count).sort((a, b) => b - a))
        for (const { key, count, error } of top) {
          expect(count).toBeGreaterThanOrEqual(exact.get(key)!)
          expect(count - error).toBeLessThanOrEqual(exact.get(key)!)
        }
        // Whoever has more than its share of the whole is among them.
        for (const [key, count] of exact)
          if (count > total / capacity) expect(top.map((each) => each.key)).toContain(key)
      }),
    )
  })

  test('find the few that stand out of a flood of others', () => {
    const hot = new HotKeys(100)
    for (let i = 0; i < 100_000; i++) {
      hot.add(`noise:${i}`, 1)
      if (i % 20 === 0) hot.add('attacker', 1)
    }
    expect(hot.top(1)[0]!.key).toBe('attacker')
  })

  test('forget what has cooled down', () => {
    const recent = new RecentHotKeys(10, 0)
    recent.add('old', 1000, 0)
    recent.add('new', 1, 61_000)
    expect(recent.top(10, 61_000).keys.map(({ key }) => key)).toEqual(['old', 'new'])
    expect(recent.top(10, 122_000).keys.map(({ key }) => key)).toEqual(['new'])
    expect(recent.top(10, 400_000)).toEqual({ keys: [], overMs: 0 })
  })
})
