import { afterAll, beforeAll, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { type VirtualClock, virtualClock } from '../../testing/virtual-clock.ts'
import { bulkhead, createBreaker, type Wrapper, withRetry, withTimeout } from '../index.ts'

const boom = new Error('boom')
const unhandled: unknown[] = []
const onUnhandled = (error: unknown): void => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', onUnhandled))
afterAll(() => {
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled).toEqual([])
})

type Fn = (input: string, options?: { signal?: AbortSignal | undefined }) => string | Promise<string>

/** New wrappers of each kind. */
function parts(clock: VirtualClock) {
  const breaker = createBreaker({ failures: 3, cooldown: '1s', clock })
  const limited = bulkhead(2, { queue: 1, clock })
  const wrappers: Record<string, Wrapper> = {
    breaker: (fn) => breaker.wrap(fn),
    timeout: withTimeout(200, { clock }),
    retry: withRetry({ attempts: 2, clock, random: () => 0.5 }),
    bulkhead: limited,
  }
  return { breaker, limited, wrappers }
}

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))

const orders = permutations(['breaker', 'timeout', 'retry', 'bulkhead'])

/** The first name is the outermost. */
const compose = (order: readonly string[], wrappers: Record<string, Wrapper>, fn: Fn) =>
  order.reduceRight((inner, name) => wrappers[name]!(inner), fn as (...args: Parameters<Fn>) => Promise<string>)

const untilAborted: Fn = (_, { signal } = {}) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

test('composes in one line, with types kept', async () => {
  const callModel = async (input: string): Promise<number> => input.length
  const breaker = createBreaker({ failures: 5, cooldown: '1m' })
  const guarded = breaker.wrap(withTimeout(200)(withRetry({ attempts: 2 })(bulkhead(10)(callModel))))
  expectTypeOf<Parameters<typeof guarded>>().toEqualTypeOf<[input: string]>()
  expectTypeOf(guarded).returns.resolves.toEqualTypeOf<number>()
  expect(await guarded('four')).toBe(4)
})

describe.each(orders.map((order) => [order.join(' > '), order] as const))('%s', (_, order) => {
  const made = (fn: Fn) => {
    const clock = virtualClock()
    const spy = vi.fn(fn)
    const all = parts(clock)
    return { ...all, clock, fn: spy, call: compose(order, all.wrappers, spy) }
  }
  /** Nothing is left behind: no timer, no call, no place in the bulkhead. */
  const expectIdle = ({ clock, breaker, limited }: ReturnType<typeof made>): void => {
    expect(clock.pending).toBe(0)
    expect(breaker.stats().inFlight).toBe(0)
    expect(limited.stats()).toMatchObject({ running: 0, waiting: 0 })
  }

  test('passes on results, at once and later', async () => {
    const all = made((input) => input)
    expect(await all.call('a')).toBe('a')
    all.fn.mockImplementation(async (input) => input)
    expect(await all.call('b')).toBe('b')
    expectIdle(all)
  })

  test.each([
    ['rejects', () => Promise.reject(boom)],
    [
      'throws at once',
      () => {
        throw boom
      },
    ],
  ])('retries what %s, and opens after three failures', async (_, fail) => {
    const all = made(fail)
    const errors: unknown[] = []
    for (let i = 0; i < 6; i++) {
      const call = all.call('a').catch((error) => errors.push(error))
      await all.clock.advance(150)
      await call
    }
    // With the retry inside, the breaker sees one failure for two attempts.
    const isRetryInside = order.indexOf('retry') > order.indexOf('breaker')
    expect(all.fn).toHaveBeenCalledTimes(isRetryInside ? 6 : 3)
    expect(all.breaker.state).toBe('open')
    expect(errors[0]).toBe(boom)
    expect(errors.at(-1)).toMatchObject({ code: 'SLUICE_BREAKER_OPEN' })
    expectIdle(all)
  })

  test('ends what hangs at the time limit, and nothing is left if the function follows its signal', async () => {
    const all = made(untilAborted)
    const call = all.call('a', { signal: undefined }).catch((error) => error)
    await all.clock.advance(1000)
    expect(await call).toMatchObject({ code: 'SLUICE_TIMEOUT' })
    expectIdle(all)
    // Wherever the timeout is, a call that is too slow is a failure of what was called.
    expect(all.breaker.stats().failed).toBeGreaterThan(0)
    expect(all.breaker.stats().cancelled).toBe(0)
  })

  test('the caller can abort, which is not a failure, and nothing is left behind', async () => {
    const all = made(untilAborted)
    const own = new AbortController()
    const call = all.call('a', { signal: own.signal })
    call.catch(() => undefined)
    await all.clock.advance(10)
    own.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await all.clock.advance(0)
    expectIdle(all)
    expect(all.breaker.stats()).toMatchObject({ failed: 0, cancelled: 1 })
    expect(all.fn).toHaveBeenCalledTimes(1)
    await expect(all.call('a', { signal: own.signal })).rejects.toThrow('enough')
    expect(all.fn).toHaveBeenCalledTimes(1)
  })

  test('refusals of a full bulkhead neither open the breaker nor are retried', async () => {
    const all = made(untilAborted)
    const own = new AbortController()
    const calls = Array.from({ length: 10 }, () => all.call('a', { signal: own.signal }).catch((error) => error))
    await all.clock.advance(10)
    expect(all.limited.stats()).toMatchObject({ running: 2, waiting: 1, rejected: 7 })
    expect(all.breaker.state).toBe('closed')
    own.abort(boom)
    const errors = await Promise.all(calls)
    expect(errors.filter((error) => error.code === 'SLUICE_REFUSED')).toHaveLength(7)
    expect(errors.filter((error) => error === boom)).toHaveLength(3)
    await all.clock.advance(0)
    expectIdle(all)
    expect(all.breaker.stats().failed).toBe(0)
  })
})
