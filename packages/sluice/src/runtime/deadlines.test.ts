import { expect, test, vi } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import { Deadlines } from './deadlines.ts'

test('what is not done in time expires, in the order of the deadlines', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const expired: number[] = []
  for (const ms of [30, 10, 20, 10]) deadlines.add(clock.monotonic() + ms, () => expired.push(ms))
  await clock.advance(19)
  expect(expired).toEqual([10, 10])
  await clock.advance(11)
  expect(expired).toEqual([10, 10, 20, 30])
})

test('never expires early, on real time', async () => {
  const deadlines = new Deadlines()
  const early: number[] = []
  let done = 0
  for (let i = 0; i < 200; i++) {
    const atMs = performance.now() + (i % 40) + Math.random()
    deadlines.add(atMs, () => {
      done += 1
      if (performance.now() < atMs) early.push(atMs)
    })
  }
  await waitFor(() => done === 200)
  expect(early).toEqual([])
})

test('what was cancelled does not expire', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const expired: string[] = []
  const cancelled = deadlines.add(5, () => expired.push('cancelled'))
  deadlines.add(10, () => expired.push('kept'))
  cancelled.cancel()
  cancelled.cancel()
  await clock.advance(20)
  expect(expired).toEqual(['kept'])
})

test('one that expires can take back another that ends at the same time', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const expired: string[] = []
  deadlines.add(5, () => {
    expired.push('first')
    second.cancel()
  })
  const second = deadlines.add(5, () => expired.push('second'))
  deadlines.add(5, () => expired.push('third'))
  await clock.advance(5)
  expect(expired).toEqual(['first', 'third'])
})

test('ten thousand deadlines need one timer, and none when closed', () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  for (let i = 0; i < 10_000; i++) deadlines.add(60_000 + (i % 7), () => undefined)
  expect(clock.pending).toBe(1)
  deadlines.close()
  expect(clock.pending).toBe(0)
})

test('one that adds another does not hold up the rest', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const seen: string[] = []
  deadlines.add(5, () => {
    seen.push('first')
    deadlines.add(clock.monotonic() + 5, () => seen.push('added'))
  })
  deadlines.add(5, () => seen.push('second'))
  await clock.advance(10)
  expect(seen).toEqual(['first', 'second', 'added'])
})

test('a timer that fires late lets replies be read first, and what came is not expired', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const expired: string[] = []
  const answered = deadlines.add(5, () => expired.push('answered'))
  deadlines.add(5, () => expired.push('lost'))
  // As when the event loop is blocked: time has passed, and then the timer fires.
  clock.tick(100)
  const firing = clock.advance(0)
  setImmediate(() => answered.cancel())
  await firing
  await waitFor(() => expired.length > 0)
  expect(expired).toEqual(['lost'])
})

test('inTime gives what came of the work, or the error of work that took too long', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const late = () => new Error('late')
  expect(await deadlines.inTime(Promise.resolve('done'), 1000, late)).toBe('done')
  const tooLong = expect(deadlines.inTime(new Promise(() => undefined), 5, late)).rejects.toThrow('late')
  await clock.advance(5)
  await tooLong
  await expect(deadlines.inTime(Promise.reject(new Error('no')), 1000, late)).rejects.toThrow('no')
})

test('what was added while replies were read is not expired before they are read again', async () => {
  const clock = virtualClock()
  const deadlines = new Deadlines(clock)
  const expired: string[] = []
  deadlines.add(5, () => expired.push('first'))
  clock.tick(5)
  const firing = clock.advance(0)
  // As when the same turn of the event loop sends a call and is then blocked for longer than its time.
  setImmediate(() => {
    deadlines.add(clock.monotonic() + 5, () => expired.push('second'))
    clock.tick(100)
  })
  await firing
  await waitFor(() => expired.length > 0)
  expect(expired).toEqual(['first'])
  await clock.advance(1)
  expect(expired).toEqual(['first', 'second'])
})

test('expires where there is no setImmediate, as in a browser or a worker', async () => {
  vi.stubGlobal('setImmediate', undefined)
  try {
    const deadlines = new Deadlines()
    const expired: string[] = []
    for (const name of ['first', 'second']) {
      deadlines.add(performance.now() + 5, () => expired.push(name))
      await waitFor(() => expired.at(-1) === name)
    }
  } finally {
    vi.unstubAllGlobals()
  }
})
