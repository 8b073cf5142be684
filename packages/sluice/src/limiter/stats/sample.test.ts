import fc from 'fast-check'
import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createLimiter } from '../create-limiter.ts'
import { Sample } from './sample.ts'

/** A generator of numbers from 0 to 1 that a seed determines (Mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

test('the sum of weights is at most 31 from the truth, at every moment', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 3000 }), fc.boolean(), (seed, decisions, skipsFirst) => {
      const sample = new Sample(seeded(seed))
      sample.start(() => {})
      let sum = 0
      for (let i = 0; i < decisions; i++) if (!(skipsFirst && sample.skips())) sum += sample.next()
      expect(Math.abs(sum - decisions)).toBeLessThan(32)
      if (decisions <= 400) expect(sum).toBe(decisions)
    }),
  )
})

test('sums are not biased where looks end them anywhere', () => {
  const random = seeded(1)
  const sample = new Sample(random)
  sample.start(() => {})
  let [sum, decisions] = [0, 0]
  for (let look = 0; look < 4000; look++) {
    const many = 380 + Math.floor(random() * 200)
    for (let i = 0; i < many; i++) sum += sample.next()
    decisions += many
    sample.restart()
  }
  expect(Math.abs(sum / decisions - 1)).toBeLessThan(0.002)
})

test.each([2, 3, 8, 32, 64])('callers that ask for %i keys by turns are seen alike', async (keys) => {
  const limiter = await createLimiter({ limits: { rpm: 1e9 }, clock: virtualClock() })
  limiter.stats()
  const each = 64_000 / keys
  for (let i = 0; i < 64_000; i++) await limiter.take(`k${i % keys}`)
  const { decisions, rules } = limiter.stats()
  expect(Math.abs(decisions.allowed - 64_000)).toBeLessThan(32)
  const counts = rules[0]!.hottest.map(({ count }) => count)
  expect(counts).toHaveLength(keys)
  // Eight standard deviations of a count that comes in steps of 32.
  const most = 8 * Math.sqrt(32 * each)
  for (const count of counts) expect(Math.abs(count - each)).toBeLessThan(most)
  await limiter.close()
})
