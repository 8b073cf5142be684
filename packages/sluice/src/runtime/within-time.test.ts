import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { withinTime } from './within-time.ts'

const late = () => new Error('late')
const never = new Promise<never>(() => {})

test('work in time gives its result or its own error, and leaves no timer', async () => {
  const clock = virtualClock()
  expect(await withinTime(Promise.resolve(7), { ms: 10, clock, late })).toBe(7)
  await expect(withinTime(Promise.reject(new Error('no')), { ms: 10, clock, late })).rejects.toThrow('no')
  expect(clock.pending).toBe(0)
})

test('work that takes too long is given up, and its own reaction to that does not win', async () => {
  const clock = virtualClock()
  const work = new AbortController()
  const reacting = new Promise<never>((_, reject) =>
    work.signal.addEventListener('abort', () => reject(new Error('aborted'))),
  )
  const limit = { ms: 10, clock, late, givenUp: (reason: unknown) => work.abort(reason) }
  const limited = expect(withinTime(reacting, limit)).rejects.toThrow('late')
  await clock.advance(10)
  await limited
  expect(work.signal.reason).toEqual(late())
})

test('a signal ends the wait with its reason, also one that was aborted before', async () => {
  const clock = virtualClock()
  const stop = new AbortController()
  const waiting = expect(withinTime(never, { ms: 10, clock, late, signal: stop.signal })).rejects.toThrow('stopped')
  stop.abort(new Error('stopped'))
  await waiting
  await expect(withinTime(never, { ms: 10, clock, late, signal: stop.signal })).rejects.toThrow('stopped')
  expect(clock.pending).toBe(0)
})
