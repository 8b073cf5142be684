import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SendWindow } from './send-window.ts'

test('knows the oldest call without a reply, in whichever order replies come', () => {
  // Each number adds a call, and ends one of those that are open, mostly the oldest.
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3 }), { maxLength: 3000 }), (picks) => {
      const window = new SendWindow()
      const open: ReturnType<SendWindow['sent']>[] = []
      for (const [sentMs, pick] of picks.entries()) {
        open.push(window.sent(1, sentMs, 0))
        if (pick < open.length && pick !== 1) window.ended(open.splice(pick, 1)[0]!)
        expect(window.oldest).toBe(open[0])
      }
    }),
    { numRuns: 30 },
  )
})

test('has no call when all are answered, however many there were', () => {
  const window = new SendWindow()
  for (let i = 0; i < 5000; i++) window.ended(window.sent(1, i, 0))
  expect(window.oldest).toBe(undefined)
})
