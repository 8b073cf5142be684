import { expect, test } from 'vitest'
import { virtualClock } from './virtual-clock.ts'

const startUs = Date.UTC(2026, 0, 1) * 1000

test('stands still until it is moved, in whole microseconds', () => {
  const clock = virtualClock()
  expect(clock.now()).toBe(startUs)
  clock.tick(0.001)
  expect(clock.now()).toBe(startUs + 1)
  clock.tick('1h30m')
  expect(clock.now()).toBe(startUs + 1 + 5_400_000_000)
  clock.set(5)
  expect(clock.now()).toBe(5000)
})

test('fires timers in order of due time, then of setting, each at its own time', async () => {
  const clock = virtualClock(0)
  const fired: [string, number][] = []
  const note = (name: string) => fired.push([name, clock.now()])
  clock.setTimeout(note, 30, 'c')
  clock.setTimeout(note, 10, 'a')
  clock.setTimeout(note, 10, 'b')
  clock.setTimeout(note, 31, 'too late')
  await clock.advance(30)
  expect(fired).toEqual([
    ['a', 10_000],
    ['b', 10_000],
    ['c', 30_000],
  ])
  expect(clock.pending).toBe(1)
})

test('what a timer starts, however deep its promises, runs before the next timer', async () => {
  const clock = virtualClock(0)
  const seen: string[] = []
  clock.setTimeout(async () => {
    for (let i = 0; i < 50; i += 1) await Promise.resolve()
    clock.setTimeout(() => seen.push('set by the first'), 5)
  }, 10)
  clock.setTimeout(() => seen.push('second'), 20)
  await clock.advance('1s')
  expect(seen).toEqual(['set by the first', 'second'])
  expect(clock.now()).toBe(1_000_000)
})

test('a cleared timer never fires, and tick and set fire none', async () => {
  const clock = virtualClock(0)
  const fired: string[] = []
  const cleared = clock.setTimeout(() => fired.push('cleared'), 1).unref()
  clock.setTimeout(() => fired.push('kept'), 1)
  clock.clearTimeout(cleared)
  clock.clearTimeout(undefined)
  clock.tick(10)
  clock.set(20)
  expect(fired).toEqual([])
  await clock.advance(0)
  expect(fired).toEqual(['kept'])
  expect(clock.now()).toBe(20_000)
})

test('refuses a step back and what is no duration', async () => {
  const clock = virtualClock()
  await expect(clock.advance(-1)).rejects.toThrow('time advances forward only')
  expect(() => clock.tick('soon')).toThrow('duration')
  expect(() => clock.set(Number.NaN)).toThrow('no time in milliseconds')
})
