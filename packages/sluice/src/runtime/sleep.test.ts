import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { backgroundClock } from './background-clock.ts'
import { sleep } from './sleep.ts'

test('a sleep ends after its time, and with the reason of a signal that aborts before', async () => {
  const clock = virtualClock()
  const ended: string[] = []
  const stop = new AbortController()
  sleep(100, clock).then(() => ended.push('slept'))
  sleep(100, clock, stop.signal).catch((error: Error) => ended.push(error.message))
  await clock.advance(50)
  stop.abort(new Error('stopped'))
  await clock.advance(0)
  expect(ended).toEqual(['stopped'])
  await clock.advance(50)
  expect(ended).toEqual(['stopped', 'slept'])
  expect(clock.pending).toBe(0)
  await expect(sleep(100, clock, stop.signal)).rejects.toThrow('stopped')
  expect(clock.pending).toBe(0)
})

test('timers of a background clock do not keep the process alive', async () => {
  const clock = virtualClock()
  let unrefs = 0
  const counting = {
    ...clock,
    setTimeout: (callback: () => void, ms: number) => ({ ...clock.setTimeout(callback, ms), unref: () => unrefs++ }),
  }
  const slept = sleep(10, backgroundClock(counting))
  expect(unrefs).toBe(1)
  await clock.advance(10)
  await slept
})
