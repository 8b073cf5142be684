import { expect, expectTypeOf, test, vi } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Call } from './call.ts'
import { TimeoutError, withTimeout } from './with-timeout.ts'

const never = (..._args: unknown[]): Promise<never> => new Promise(() => undefined)

test('rejects at the time limit what has not settled', async () => {
  const clock = virtualClock()
  const call = withTimeout(200, { clock })(never)()
  const settled = vi.fn()
  call.catch(settled)
  await clock.advance(199)
  expect(settled).not.toHaveBeenCalled()
  await clock.advance(1)
  await expect(call).rejects.toMatchObject({ name: 'TimeoutError', code: 'SLUICE_TIMEOUT', transient: true })
})

test('passes on results, errors and what is thrown at once, and leaves no timer behind', async () => {
  const clock = virtualClock()
  const boom = new Error('boom')
  const within = withTimeout(200, { clock })
  expect(await within(async (a: number, b: number) => a + b)(1, 2)).toBe(3)
  expect(await within(() => 'sync')()).toBe('sync')
  await expect(within(() => Promise.reject(boom))()).rejects.toBe(boom)
  const throwing = within((): number => {
    throw boom
  })
  await expect(throwing()).rejects.toBe(boom)
  expect(clock.pending).toBe(0)
})

test('drops what comes after the time limit, without an unhandled rejection', async () => {
  const clock = virtualClock()
  let fail: (error: Error) => void = () => undefined
  const call = withTimeout(10, { clock })(() => new Promise<never>((_, reject) => (fail = reject)))()
  call.catch(() => undefined)
  await clock.advance(10)
  fail(new Error('too late'))
  await expect(call).rejects.toThrow(TimeoutError)
  // An unhandled rejection would fail the run of the tests.
  await new Promise((resolve) => setImmediate(resolve))
})

test.each([
  ['options', (signal: AbortSignal | undefined) => [{ signal, other: 1 }]],
  ['a signal', (signal: AbortSignal | undefined) => (signal ? [signal] : [])],
])('aborts the signal that the function gets in %s', async (_, argsOf) => {
  const clock = virtualClock()
  const own = new AbortController()
  const seen: AbortSignal[] = []
  const fn = (...args: unknown[]): Promise<never> => {
    const last = args.at(-1)
    seen.push(last instanceof AbortSignal ? last : (last as { signal: AbortSignal }).signal)
    return never()
  }
  const call = withTimeout(10, { clock })(fn)('input', ...argsOf(own.signal))
  call.catch(() => undefined)
  await clock.advance(10)
  expect(seen[0]?.aborted).toBe(true)
  expect(seen[0]?.reason).toBeInstanceOf(TimeoutError)
  expect(own.signal.aborted).toBe(false)
})

test('a `signal` field that is undefined is filled too, and other options stay', async () => {
  const clock = virtualClock()
  const options = { signal: undefined, other: 1 }
  const seen = await withTimeout(10, { clock })((given: { signal: AbortSignal | undefined; other: number }) => given)(
    options,
  )
  expect(seen.other).toBe(1)
  expect(seen.signal).toBeInstanceOf(AbortSignal)
  expect(options.signal).toBeUndefined()
})

test('adds no argument to a function that takes no signal, and copies no object with a class', async () => {
  const clock = virtualClock()
  const seen: unknown[][] = []
  const fn = withTimeout(10, { clock })((...args: unknown[]) => seen.push(args))
  const request = new Request('http://localhost/')
  await fn()
  await fn(1, { other: 1 }, null)
  await fn(request)
  expect(seen).toEqual([[], [1, { other: 1 }, null], [request]])
  expect(seen[2]?.[0]).toBe(request)
})

test('the caller can abort first; its listener and the timer are gone then, and when the call ends', async () => {
  const clock = virtualClock()
  const own = new AbortController()
  const added = vi.spyOn(own.signal, 'addEventListener')
  const removed = vi.spyOn(own.signal, 'removeEventListener')
  const within = withTimeout(10, { clock })
  await within((_: Call) => 1)({ signal: own.signal })
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
  const call = within(never)({ signal: own.signal })
  own.abort(new Error('enough'))
  await expect(call).rejects.toThrow('enough')
  expect(clock.pending).toBe(0)
  const fn = vi.fn(never)
  await expect(within(fn)({ signal: own.signal })).rejects.toThrow('enough')
  expect(fn).not.toHaveBeenCalled()
})

test('keeps types, and refuses wrong options', () => {
  const wrapped = withTimeout(10)(async (_input: string, _options?: Call) => 5)
  expectTypeOf<Parameters<typeof wrapped>>().toEqualTypeOf<[_input: string, _options?: Call | undefined]>()
  expectTypeOf(wrapped).returns.resolves.toEqualTypeOf<number>()
  expect(() => withTimeout(0)).toThrow('withTimeout.limit is 0; use a whole number of milliseconds from 1')
  expect(() => withTimeout(5, { clok: 1 } as never)).toThrow('did you mean "clock"?')
})
