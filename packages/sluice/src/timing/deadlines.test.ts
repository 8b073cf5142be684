import { expect, test } from 'vitest'
import { waitFor } from '../testing/wait-for.ts'
import { Deadlines } from './deadlines.ts'

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

test('what is not done in time expires, in the order of the deadlines', async () => {
  const deadlines = new Deadlines()
  const expired: number[] = []
  const nowMs = performance.now()
  for (const ms of [30, 10, 20, 10]) deadlines.add(nowMs + ms, () => expired.push(ms))
  await waitFor(() => expired.length === 4)
  expect(expired).toEqual([10, 10, 20, 30])
})

test('never expires early', async () => {
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
  const deadlines = new Deadlines()
  const expired: string[] = []
  const cancel = deadlines.add(performance.now() + 5, () => expired.push('cancelled'))
  deadlines.add(performance.now() + 10, () => expired.push('kept'))
  cancel()
  await waitFor(() => expired.length > 0)
  expect(expired).toEqual(['kept'])
})

test('ten thousand deadlines need one timer, and none when closed', async () => {
  const before = timers()
  const deadlines = new Deadlines()
  for (let i = 0; i < 10_000; i++) deadlines.add(performance.now() + 60_000 + (i % 7), () => undefined)
  expect(timers() - before).toBeLessThanOrEqual(1)
  deadlines.close()
  expect(timers() - before).toBeLessThanOrEqual(0)
})

test('one that adds another does not hold up the rest', async () => {
  const deadlines = new Deadlines()
  const seen: string[] = []
  deadlines.add(performance.now() + 5, () => {
    seen.push('first')
    deadlines.add(performance.now() + 5, () => seen.push('added'))
  })
  deadlines.add(performance.now() + 5, () => seen.push('second'))
  await waitFor(() => seen.length === 3)
  expect(seen).toEqual(['first', 'second', 'added'])
})

test('inTime gives what came of the work, or undefined when it took too long', async () => {
  const deadlines = new Deadlines()
  expect(await deadlines.inTime(Promise.resolve('done'), performance.now() + 1000)).toBe('done')
  expect(await deadlines.inTime(new Promise(() => undefined), performance.now() + 5)).toBeUndefined()
  await expect(deadlines.inTime(Promise.reject(new Error('no')), performance.now() + 1000)).rejects.toThrow('no')
})
