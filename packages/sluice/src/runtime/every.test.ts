import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { every } from './every.ts'

test('runs once per period until it is stopped, also from within', async () => {
  const clock = virtualClock()
  const atMs: number[] = []
  const stop = every(1000, clock, () => {
    atMs.push(clock.monotonic())
    if (atMs.length === 3) stop()
  })
  await clock.advance(10_000)
  expect(atMs).toEqual([1000, 2000, 3000])
  expect(clock.pending).toBe(0)
})

test('goes on after a run that threw', async () => {
  const clock = virtualClock()
  let runs = 0
  const stop = every(1000, clock, () => {
    runs++
    throw new Error('once')
  })
  await expect(clock.advance(1000)).rejects.toThrow('once')
  await expect(clock.advance(1000)).rejects.toThrow('once')
  expect(runs).toBe(2)
  stop()
  expect(clock.pending).toBe(0)
})
