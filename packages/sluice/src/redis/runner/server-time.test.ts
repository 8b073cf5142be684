import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServerTime } from './server-time.ts'

test('knows nothing before the first reply', () => {
  expect(new ServerTime().latestAt(0)).toBeUndefined()
  expect(new ServerTime().at(0)).toBeUndefined()
})

test('is never ahead of the server, and behind it by no more than its best reply took', () => {
  const reply = fc.record({
    waitMs: fc.integer({ min: 0, max: 2000 }),
    thereMs: fc.integer({ min: 0, max: 300 }),
    backMs: fc.integer({ min: 0, max: 300 }),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: -86_400_000, max: 86_400_000 }),
      fc.array(reply, { minLength: 1, maxLength: 50 }),
      (offsetMs, replies) => {
        const time = new ServerTime()
        let nowMs = 0
        for (const { waitMs, thereMs, backMs } of replies) {
          const sentMs = nowMs + waitMs
          nowMs = sentMs + thereMs + backMs
          time.learn((sentMs + thereMs + offsetMs) * 1000, sentMs, nowMs)
          expect(time.at(nowMs)!).toBeLessThanOrEqual(nowMs + offsetMs)
          expect(time.at(nowMs)!).toBeGreaterThanOrEqual(nowMs + offsetMs - 300)
          expect(time.latestAt(nowMs)!).toBeGreaterThanOrEqual(nowMs + offsetMs)
          expect(time.latestAt(nowMs)!).toBeLessThanOrEqual(nowMs + offsetMs + 301)
          expect(time.latestAt(sentMs + 2001)).toBeUndefined()
        }
      },
    ),
  )
})

test.each([-5000, 5000])(
  'follows a server whose clock is %i ms off the one before, from its first reply on',
  (stepMs) => {
    const time = new ServerTime()
    for (let ms = 0; ms < 1000; ms += 10) time.learn((ms + 1) * 1000, ms, ms + 2)
    time.learn((1001 + stepMs) * 1000, 1000, 1002)
    expect(time.at(1002)!).toBeLessThanOrEqual(1002 + stepMs)
    expect(time.at(1002)!).toBeGreaterThanOrEqual(1000 + stepMs)
  },
)

test('follows a clock that drifts', () => {
  const time = new ServerTime()
  const serverMs = (ms: number): number => ms * 0.9999
  for (let ms = 0; ms < 600_000; ms += 1000) time.learn(serverMs(ms + 1) * 1000, ms, ms + 2)
  // A deadline half a second ahead is meant to be half a second ahead, give or take what ten seconds drift by.
  expect(Math.abs(time.at(600_000)! - serverMs(600_000))).toBeLessThan(5)
})

test('the latest time stays true for a server whose clock runs faster by a thousandth', () => {
  const time = new ServerTime()
  const serverMs = (ms: number): number => 5000 + ms * 1.0009
  time.learn(serverMs(1) * 1000, 0, 2)
  for (let ms = 2; ms < 2000; ms += 100) expect(time.latestAt(ms)!).toBeGreaterThanOrEqual(serverMs(ms))
})
