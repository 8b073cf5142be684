import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SentCall, Unanswered } from './unanswered.ts'

test('knows the oldest call without a reply, in whichever order replies come', () => {
  // Each number adds a call, and removes one of those that are open, mostly the oldest.
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3 }), { maxLength: 3000 }), (picks) => {
      const unanswered = new Unanswered()
      const open: SentCall[] = []
      for (const [sentMs, pick] of picks.entries()) {
        open.push(unanswered.add(sentMs))
        if (pick < open.length && pick !== 1) unanswered.remove(open.splice(pick, 1)[0]!)
        expect(unanswered.oldestMs).toBe(open[0]?.sentMs ?? Infinity)
      }
    }),
    { numRuns: 30 },
  )
})

test('is empty when all are answered, however many there were', () => {
  const unanswered = new Unanswered()
  for (let i = 0; i < 5000; i++) unanswered.remove(unanswered.add(i))
  expect(unanswered.oldestMs).toBe(Infinity)
})
