import fc from 'fast-check'
import { expect, expectTypeOf, test, vi } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { bulkhead } from './bulkhead.ts'
import type { Call } from './call.ts'

interface Job {
  readonly name: string
  end(): void
  fail(error: Error): void
}

/** A function whose calls end when the test decides. */
function jobs(): { started: Job[]; run: (name: string, options?: Call) => Promise<string> } {
  const started: Job[] = []
  const run = (name: string): Promise<string> =>
    new Promise((resolve, reject) => started.push({ name, end: () => resolve(name), fail: reject }))
  return { started, run }
}
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('runs so many at a time, lets so many wait, first in first out, and refuses the rest at once', async () => {
  const { started, run } = jobs()
  const limited = bulkhead(2, { queue: 2 })
  const call = limited(run)
  const calls = ['a', 'b', 'c', 'd'].map((name) => call(name))
  await expect(call('e')).rejects.toMatchObject({ code: 'SLUICE_REFUSED', transient: true })
  expect(limited.stats()).toEqual({ running: 2, waiting: 2, rejected: 1 })
  for (let i = 0; i < 4; i++) {
    started[i]!.end()
    await nextTurn()
  }
  expect(await Promise.all(calls)).toEqual(['a', 'b', 'c', 'd'])
  expect(started.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd'])
  expect(limited.stats()).toEqual({ running: 0, waiting: 0, rejected: 1 })
})

test('a call that fails frees its place, also when it fails at once', async () => {
  const limited = bulkhead(1, { queue: 0 })
  const { started, run } = jobs()
  const throwing = limited((): number => {
    throw new Error('at once')
  })
  await expect(throwing()).rejects.toThrow('at once')
  const call = limited(run)('a')
  started[0]!.fail(new Error('later'))
  await expect(call).rejects.toThrow('later')
  expect(limited.stats().running).toBe(0)
})

test('a waiting call can leave by aborting, and neither takes a place nor keeps its place in the queue', async () => {
  const { started, run } = jobs()
  const limited = bulkhead(1, { queue: 1 })
  const call = limited(run)
  const first = call('a')
  const own = new AbortController()
  const removed = vi.spyOn(own.signal, 'removeEventListener')
  const waiting = call('b', { signal: own.signal })
  own.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  expect(removed).toHaveBeenCalled()
  const next = call('c')
  started[0]!.end()
  await first
  await nextTurn()
  started[1]!.end()
  expect(await next).toBe('c')
  await expect(call('d', { signal: own.signal })).rejects.toThrow('enough')
  expect(limited.stats()).toEqual({ running: 0, waiting: 0, rejected: 0 })
})

test('an abort at the moment when a place is handed over passes it to the next', async () => {
  const { started, run } = jobs()
  const limited = bulkhead(1, { queue: 5 })
  const call = limited(run)
  const own = new AbortController()
  const first = call('a')
  const second = call('b', { signal: own.signal })
  second.catch(() => undefined)
  const third = call('c')
  started[0]!.end()
  while (limited.stats().waiting === 2) await undefined
  own.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  expect(await first).toBe('a')
  await nextTurn()
  expect(started.map(({ name }) => name)).toEqual(['a', 'c'])
  started[1]!.end()
  expect(await third).toBe('c')
  expect(limited.stats()).toMatchObject({ running: 0, waiting: 0 })
})

test('a call that waits too long is refused, and no timer is left', async () => {
  const clock = virtualClock()
  const { started, run } = jobs()
  const limited = bulkhead(1, { queue: 2, maxWait: 100, clock })
  const call = limited(run)
  const first = call('a')
  const second = call('b')
  second.catch(() => undefined)
  await clock.advance(50)
  const third = call('c')
  await clock.advance(50)
  await expect(second).rejects.toThrow('1 calls are running and this one has waited for 100 ms.')
  started[0]!.end()
  await first
  await nextTurn()
  started[1]!.end()
  expect(await third).toBe('c')
  expect(clock.pending).toBe(0)
  expect(limited.stats()).toEqual({ running: 0, waiting: 0, rejected: 1 })
})

test('never runs more than allowed, loses no place and starts in order, whatever callers do', async () => {
  const step = fc.constantFrom('call', 'end', 'fail', 'abort')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (steps, limit) => {
      const limited = bulkhead(limit, { queue: 4 })
      const { started, run } = jobs()
      const signals: AbortController[] = []
      const calls: Promise<unknown>[] = []
      let ended = 0
      for (const [at, does] of steps.entries()) {
        if (does === 'call') {
          const own = new AbortController()
          signals.push(own)
          calls.push(limited(run)(String(at), { signal: own.signal }).catch(() => undefined))
        } else if (does === 'abort') signals[at % (signals.length || 1)]?.abort()
        else if (ended < started.length) {
          const job = started[ended++]!
          if (does === 'end') job.end()
          else job.fail(new Error('failed'))
        }
        if (at % 3 === 0) await nextTurn()
        const { running, waiting } = limited.stats()
        expect(running).toBeLessThanOrEqual(limit)
        expect(waiting).toBeLessThanOrEqual(4)
        expect(started.length - ended).toBeLessThanOrEqual(limit)
      }
      for (let left = true; left; left = ended < started.length) {
        while (ended < started.length) started[ended++]!.end()
        await nextTurn()
      }
      await Promise.all(calls)
      expect(limited.stats()).toMatchObject({ running: 0, waiting: 0 })
      const order = started.map(({ name }) => Number(name))
      expect(order).toEqual([...order].sort((a, b) => a - b))
    }),
  )
})

test('keeps types, and refuses wrong options', () => {
  const wrapped = bulkhead(1)(jobs().run)
  expectTypeOf<Parameters<typeof wrapped>>().toEqualTypeOf<[name: string, options?: Call | undefined]>()
  expectTypeOf(wrapped).returns.resolves.toEqualTypeOf<string>()
  expect(() => bulkhead(0)).toThrow('bulkhead.limit is 0; use a whole number of calls from 1')
  expect(() => bulkhead(1, { queue: -1 })).toThrow('bulkhead.queue is -1')
  expect(() => bulkhead(1, { queu: 1 } as never)).toThrow('did you mean "queue"?')
  expect(() => bulkhead(1, { maxWait: 0 })).toThrow('bulkhead.maxWait is 0')
})
