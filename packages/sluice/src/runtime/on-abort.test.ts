import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { onAbort } from './on-abort.ts'
import { sleep } from './sleep.ts'

const count = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

test('a thousand callers share one listener, each is called once and in order, and none is left', () => {
  const own = new AbortController()
  const called: number[] = []
  for (let i = 0; i < 1000; i++) onAbort(own.signal, () => called.push(i))
  expect(count(own.signal)).toBe(1)
  own.abort()
  own.signal.dispatchEvent(new Event('abort'))
  expect(called).toEqual(Array.from({ length: 1000 }, (_, i) => i))
  expect(count(own.signal)).toBe(0)
})

test('who leaves is not called, and the last to leave removes the listener', () => {
  const own = new AbortController()
  const called: string[] = []
  const listener = (): void => void called.push('same')
  const [leaveA, leaveB] = [onAbort(own.signal, listener), onAbort(own.signal, listener)]
  leaveA()
  leaveA()
  expect(count(own.signal)).toBe(1)
  leaveB()
  expect(count(own.signal)).toBe(0)
  onAbort(own.signal, listener)
  leaveB()
  own.abort()
  expect(called).toEqual(['same'])
})

test('who leaves while the others are called is not called either', () => {
  const own = new AbortController()
  const called: string[] = []
  const leaves: (() => void)[] = []
  onAbort(own.signal, () => {
    called.push('first')
    for (const leave of leaves) leave()
  })
  leaves.push(onAbort(own.signal, () => called.push('second')))
  own.abort()
  expect(called).toEqual(['first'])
})

test('without a signal there is nothing to do', () => {
  expect(() => onAbort(undefined, () => undefined)()).not.toThrow()
})

test('sleep ends by its time or by its signal, and leaves neither timer nor listener behind', async () => {
  const clock = virtualClock()
  const own = new AbortController()
  const done = sleep(100, clock, own.signal)
  await clock.advance(100)
  await done
  expect([clock.pending, count(own.signal)]).toEqual([0, 0])
  const ended = sleep(100, clock, own.signal)
  own.abort(new Error('enough'))
  await expect(ended).rejects.toThrow('enough')
  await expect(sleep(100, clock, own.signal)).rejects.toThrow('enough')
  expect([clock.pending, count(own.signal)]).toEqual([0, 0])
})
