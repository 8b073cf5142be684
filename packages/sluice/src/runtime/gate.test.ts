import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { Gate } from './gate.ts'

const refusal = (why: string) => new Error(why)

test('so many are inside, the others follow in order, and those beyond the queue are refused', async () => {
  const gate = new Gate({ limit: 1, queue: 2, clock: virtualClock(), refusal })
  const order: string[] = []
  expect(gate.tryEnter()).toBe(true)
  expect(gate.tryEnter()).toBe(false)
  const first = gate.turn().then(() => order.push('first'))
  const second = gate.turn().then(() => order.push('second'))
  await expect(gate.turn()).rejects.toThrow('full')
  gate.leave()
  await first
  expect([gate.inside, gate.waiting, order]).toEqual([1, 1, ['first']])
  gate.leave()
  await second
  gate.leave()
  expect([gate.inside, gate.waiting, order]).toEqual([0, 0, ['first', 'second']])
})

test('who waits too long, or whose signal aborts, leaves the queue and takes no turn', async () => {
  const clock = virtualClock()
  const gate = new Gate({ limit: 1, queue: 9, maxWaitMs: 50, clock, refusal })
  gate.tryEnter()
  const stop = new AbortController()
  const aborted = expect(gate.turn(stop.signal)).rejects.toThrow('stopped')
  const late = expect(gate.turn()).rejects.toThrow('late')
  stop.abort(new Error('stopped'))
  await aborted
  await clock.advance(50)
  await late
  expect([gate.waiting, clock.pending]).toEqual([0, 0])
  gate.leave()
  expect(gate.inside).toBe(0)
})
