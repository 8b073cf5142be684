import fc from 'fast-check'
import { expect, expectTypeOf, test, vi } from 'vitest'
import { SluiceError } from '../../core/errors.ts'
import { RetryBudget } from '../../runtime/retry-budget.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { BreakerOpenError } from '../breaker-open-error.ts'
import type { Call } from './call.ts'
import { type RetryOptions, withRetry } from './with-retry.ts'

const boom = new Error('boom')
/** Fails so many times before it succeeds. */
const failing = (times: number) => {
  let left = times
  return vi.fn(async (input: string, _options?: Call) => {
    if (left-- > 0) throw boom
    return input
  })
}
/** Without waiting: the random number is always zero. */
const atOnce = (options: RetryOptions = {}) => withRetry({ random: () => 0, ...options })

test('calls again until it succeeds, with the same arguments', async () => {
  const fn = failing(2)
  expect(await atOnce()(fn)('a')).toBe('a')
  expect(fn.mock.calls).toEqual([['a'], ['a'], ['a']])
})

test('makes as many attempts as allowed, and rejects with the last error', async () => {
  const fn = failing(5)
  await expect(atOnce({ attempts: 2 })(fn)('a')).rejects.toBe(boom)
  expect(fn).toHaveBeenCalledTimes(2)
  await expect(atOnce({ attempts: 1 })(failing(1))('a')).rejects.toBe(boom)
})

test('what is thrown at once is retried too', async () => {
  let calls = 0
  const fn = (): number => {
    if (++calls === 1) throw boom
    return calls
  }
  expect(await atOnce()(fn)()).toBe(2)
})

test('waits a random part of a time that doubles up to a maximum', async () => {
  const clock = virtualClock()
  const waits: number[] = []
  const watched = { ...clock, setTimeout: (done: () => void, ms = 0) => clock.setTimeout(done, waits.push(ms) && ms) }
  const chances = [1, 1, 0.5, 1, 1]
  const options = { attempts: 6, base: 100, max: 500, clock: watched, random: () => chances.shift()! }
  const call = withRetry(options)(failing(5))('a')
  await clock.advance('10s')
  expect(await call).toBe('a')
  expect(waits).toEqual([100, 200, 200, 500, 500])
  expect(clock.pending).toBe(0)
})

test('an abort ends the wait at once, without a timer or another attempt', async () => {
  const clock = virtualClock()
  const own = new AbortController()
  const fn = failing(5)
  const call = withRetry({ clock, random: () => 1 })(fn)('a', { signal: own.signal })
  call.catch(() => undefined)
  await clock.advance(1)
  own.abort(new Error('enough'))
  await expect(call).rejects.toThrow('enough')
  expect(clock.pending).toBe(0)
  expect(fn).toHaveBeenCalledTimes(1)
  await expect(withRetry({ clock })(fn)('a', { signal: own.signal })).rejects.toThrow('enough')
  expect(fn).toHaveBeenCalledTimes(1)
})

test('a call that fails because its caller aborted it is not made again', async () => {
  const own = new AbortController()
  const fn = vi.fn(async (_: Call) => {
    own.abort()
    throw boom
  })
  await expect(atOnce()(fn)({ signal: own.signal })).rejects.toBe(boom)
  expect(fn).toHaveBeenCalledTimes(1)
})

test.each([
  ['a refusal of a breaker', new BreakerOpenError('a', () => 0)],
  ['a full bulkhead', new SluiceError('SLUICE_REFUSED', 'full', { transient: true })],
  ['an error that is not transient', new SluiceError('SLUICE_INVALID_KEY', 'wrong')],
])('does not retry %s', async (_, error) => {
  const fn = vi.fn(() => Promise.reject(error))
  await expect(atOnce()(fn)()).rejects.toBe(error)
  expect(fn).toHaveBeenCalledTimes(1)
})

test('isRetryable decides; if it throws, the caller sees the error of the call', async () => {
  const fn = vi.fn(() => Promise.reject(boom))
  await expect(atOnce({ isRetryable: () => false })(fn)()).rejects.toBe(boom)
  const isRetryable = (): boolean => {
    throw new Error('cannot read')
  }
  await expect(atOnce({ isRetryable })(fn)()).rejects.toBe(boom)
  expect(fn).toHaveBeenCalledTimes(2)
})

test('when everything fails, the budget keeps retries to a fifth of the calls and a burst', async () => {
  const retry = atOnce()
  const fn = vi.fn(() => Promise.reject(boom))
  for (let i = 0; i < 1000; i++) await expect(retry(fn)()).rejects.toBe(boom)
  const { calls, retries, overBudget } = retry.stats()
  expect(calls).toBe(1000)
  expect(retries).toBeGreaterThan(200)
  expect(retries).toBeLessThanOrEqual(210)
  expect(overBudget).toBeGreaterThan(700)
  expect(fn).toHaveBeenCalledTimes(calls + retries)
})

test('without a budget every call gets all its attempts', async () => {
  const fn = vi.fn(() => Promise.reject(boom))
  const retry = atOnce({ budget: false })
  for (let i = 0; i < 100; i++) await expect(retry(fn)()).rejects.toBe(boom)
  expect(fn).toHaveBeenCalledTimes(300)
})

test('a budget without a burst is what the calls add', async () => {
  let calls = 0
  const fn = withRetry({ attempts: 2, base: 0, budget: { burst: 0, ratio: 1 } })(async () => {
    calls += 1
    throw new Error('failed')
  })
  for (let i = 0; i < 10; i++) await fn().catch(() => undefined)
  expect(calls).toBe(20)
})

test('a budget never gives more than the burst and its share of the calls', () => {
  const options = fc.record({ ratio: fc.double({ min: 0, max: 2, noNaN: true }), burst: fc.nat(20) })
  fc.assert(
    fc.property(options, fc.array(fc.boolean()), (given, steps) => {
      const budget = new RetryBudget(given)
      let calls = 0
      let retries = 0
      for (const isCall of steps) {
        if (isCall) budget.deposit()
        else if (budget.withdraw()) retries += 1
        if (isCall) calls += 1
        expect(retries).toBeLessThanOrEqual(given.burst + given.ratio * calls + 1e-9)
      }
    }),
  )
})

test('keeps types, and refuses wrong options', () => {
  const wrapped = withRetry()(failing(0))
  expectTypeOf<Parameters<typeof wrapped>>().toEqualTypeOf<[input: string, _options?: Call | undefined]>()
  expectTypeOf(wrapped).returns.resolves.toEqualTypeOf<string>()
  const wrong = (options: object) => () => withRetry(options)
  expect(wrong({ attempts: 0 })).toThrow('withRetry.attempts is 0')
  expect(wrong({ atempts: 2 })).toThrow('did you mean "attempts"?')
  expect(wrong({ budget: { ratio: -1 } })).toThrow('withRetry.budget.ratio is -1')
  expect(wrong({ budget: { burst: 0.5 } })).toThrow('withRetry.budget.burst is 0.5')
  expect(wrong({ isRetryable: 'no' })).toThrow('withRetry.isRetryable is "no"; pass a function')
})
