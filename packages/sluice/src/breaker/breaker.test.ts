import { expect, expectTypeOf, test, vi } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import type { Breaker } from './breaker.ts'
import { BreakerOpenError } from './breaker-open-error.ts'
import { createBreaker } from './create-breaker.ts'
import type { BreakerOptions } from './options.ts'
import type { Failure, Outcome } from './run-options.ts'
import { bulkhead } from './wrappers/bulkhead.ts'
import type { Call } from './wrappers/call.ts'
import { withRetry } from './wrappers/with-retry.ts'
import { withTimeout } from './wrappers/with-timeout.ts'

const boom = new Error('boom')
const fail = async (): Promise<never> => {
  throw boom
}

function made(options: BreakerOptions = {}): { breaker: Breaker; clock: ReturnType<typeof virtualClock> } {
  const clock = virtualClock()
  return { clock, breaker: createBreaker({ clock, ...options }) }
}

/** Five failures open a breaker with default options. */
async function opened(options: BreakerOptions = {}): ReturnType<() => Promise<ReturnType<typeof made>>> {
  const all = made(options)
  while (all.breaker.state !== 'open') await all.breaker.run(fail).catch(() => undefined)
  return all
}

test('resolves to the result, of functions that return promises, thenables and plain values', async () => {
  const { breaker } = made()
  expect(await breaker.run(async () => 1)).toBe(1)
  expect(await breaker.run(() => 2)).toBe(2)
  // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise is what is tested
  const thenable = { then: (resolve: (value: number) => void) => resolve(3) } as PromiseLike<number>
  expect(await breaker.run(() => thenable)).toBe(3)
  expect(breaker.stats()).toMatchObject({ succeeded: 3, inFlight: 0 })
})

test('by default opens after 5 failures in a row and probes after 60 s', async () => {
  const { breaker, clock } = made()
  const fn = vi.fn(fail)
  for (let i = 0; i < 20; i++) await expect(breaker.run(fn)).rejects.toThrow()
  expect(fn).toHaveBeenCalledTimes(5)
  clock.tick(59_999)
  await expect(breaker.run(fn)).rejects.toMatchObject({ code: 'SLUICE_BREAKER_OPEN', retryAfterMs: 1 })
  const error: unknown = await breaker.run(fn).catch((thrown: unknown) => thrown)
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'SLUICE_BREAKER_OPEN', retryAfterMs: 1 })
  clock.tick(1)
  expect(await breaker.run(() => 'well')).toBe('well')
  expect(breaker.state).toBe('closed')
})

test('a function that throws before it returns a promise fails like one that rejects', async () => {
  const { breaker } = made({ failures: 1 })
  const returned = breaker.run((): Promise<number> => {
    throw boom
  })
  await expect(returned).rejects.toBe(boom)
  expect(breaker.state).toBe('open')
})

test('the fallback answers for failures and while open, and receives the reason', async () => {
  const { breaker } = made({ failures: 1 })
  const failures: Failure[] = []
  const fallback = (failure: Failure): number => {
    failures.push(failure)
    return 0.5
  }
  expect(await breaker.run(fail, { fallback })).toBe(0.5)
  expect(await breaker.run(fail, { fallback: async (failure) => fallback(failure) })).toBe(0.5)
  expect(failures).toEqual([
    { reason: 'failed', error: boom },
    { reason: 'open', error: expect.any(BreakerOpenError) },
  ])
})

test('a fallback that throws or rejects passes its error to the caller and does not count as a failure', async () => {
  const { breaker } = await opened()
  const worse = new Error('worse')
  const throwing = breaker.run(() => 1, {
    fallback: () => {
      throw worse
    },
  })
  await expect(throwing).rejects.toBe(worse)
  await expect(breaker.run(() => 1, { fallback: () => Promise.reject(worse) })).rejects.toBe(worse)
  expect(breaker.stats()).toMatchObject({ failed: 5, rejected: 2, inFlight: 0 })
})

test('the outcome has a flag for degraded', async () => {
  const { breaker } = made({ failures: 1 })
  const fallback = (): number => 0.5
  expect(await breaker.outcome(() => 0.9, { fallback })).toEqual({ degraded: false, value: 0.9 })
  expect(await breaker.outcome(fail, { fallback })).toEqual({
    ...{ degraded: true, value: 0.5, reason: 'failed', error: boom },
  })
  expect(await breaker.outcome(() => 0.9, { fallback })).toMatchObject({ degraded: true, value: 0.5, reason: 'open' })
})

test('an error that is not a failure reaches the caller, also past a fallback, and never opens', async () => {
  const notFound = Object.assign(new Error('not found'), { status: 404 })
  const { breaker } = made({ failures: 1, isFailure: (error) => (error as { status?: number }).status !== 404 })
  for (let i = 0; i < 10; i++) {
    await expect(breaker.run(() => Promise.reject(notFound), { fallback: () => 1 })).rejects.toBe(notFound)
  }
  expect(breaker.state).toBe('closed')
  expect(breaker.stats()).toMatchObject({ succeeded: 10, failed: 0 })
})

test('an isFailure that throws counts as yes, and the caller sees the error of the call', async () => {
  const { breaker } = await opened({
    failures: 1,
    isFailure: () => {
      throw new Error('cannot read')
    },
  })
  expect(breaker.stats()).toMatchObject({ failed: 1, inFlight: 0 })
})

test('the function gets the signal of the caller', async () => {
  const { breaker } = made()
  const { signal } = new AbortController()
  expect(await breaker.run((call) => call.signal, { signal })).toBe(signal)
  expect(await breaker.run((call) => call)).toEqual({ signal: undefined })
})

test('a signal that is aborted already rejects without a call, and does not take a probe', async () => {
  const { breaker, clock } = await opened()
  clock.tick(60_000)
  const fn = vi.fn(() => 1)
  const signal = AbortSignal.abort(boom)
  await expect(breaker.run(fn, { signal, fallback: () => 2 })).rejects.toBe(boom)
  expect(fn).not.toHaveBeenCalled()
  expect(await breaker.run(fn)).toBe(1)
  expect(breaker.state).toBe('closed')
})

/** Rejects when the signal aborts, as `fetch` does. */
const untilAborted = ({ signal }: Call): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

test('a probe that its caller aborts decides nothing, and another may be made', async () => {
  const { breaker, clock } = await opened()
  clock.tick(60_000)
  const own = new AbortController()
  const probe = breaker.run(untilAborted, { signal: own.signal, fallback: () => 1 })
  await expect(breaker.run(() => 1)).rejects.toThrow(BreakerOpenError)
  own.abort()
  await expect(probe).rejects.toMatchObject({ name: 'AbortError' })
  expect(breaker.state).toBe('half-open')
  expect(await breaker.run(() => 1)).toBe(1)
  expect(breaker.state).toBe('closed')
})

test('a call that a timeout aborts has failed: what was called is too slow', async () => {
  const { breaker } = made({ failures: 1 })
  const signal = AbortSignal.timeout(1)
  expect(await breaker.run(untilAborted, { signal, fallback: () => 'late' })).toBe('late')
  expect(breaker.state).toBe('open')
})

test('of a thousand callers at half-open one goes through, and the others get the fallback at once', async () => {
  const { breaker, clock } = await opened()
  clock.tick(60_000)
  let end: (value: string) => void = () => undefined
  const fn = vi.fn(() => new Promise<string>((resolve) => (end = resolve)))
  const callers = Array.from({ length: 1000 }, () => breaker.run(fn, { fallback: () => 'instead' }))
  const others = await Promise.all(callers.slice(1))
  expect(new Set(others)).toEqual(new Set(['instead']))
  end('well')
  expect(await callers[0]).toBe('well')
  expect(fn).toHaveBeenCalledTimes(1)
  expect(breaker.stats()).toMatchObject({ state: 'closed', rejected: 999 })
})

test('a probe that never settles does not keep it half-open without end', async () => {
  const { breaker, clock } = await opened({ probeTimeout: '1s' })
  clock.tick(60_000)
  void breaker.run(() => new Promise(() => undefined))
  clock.tick(1000)
  await expect(breaker.run(() => 1)).rejects.toThrow(BreakerOpenError)
  expect(breaker.state).toBe('open')
  clock.tick(60_000)
  expect(await breaker.run(() => 1)).toBe(1)
  expect(breaker.state).toBe('closed')
})

test('the cooldown grows up to its maximum, with jitter, and starts again at its base after it has closed', async () => {
  let chance = 1
  const options = { failures: 1, cooldown: 100, maxCooldown: 350, cooldownJitter: 0.5, random: () => chance }
  const { breaker, clock } = await opened(options)
  const cooldowns = [breaker.stats().retryAfterMs]
  for (const next of [1, 0, 1]) {
    chance = next
    clock.tick(350)
    await breaker.run(fail).catch(() => undefined)
    cooldowns.push(breaker.stats().retryAfterMs)
  }
  expect(cooldowns).toEqual([100, 200, 175, 350])
  clock.tick(350)
  await breaker.run(() => 1)
  await breaker.run(fail).catch(() => undefined)
  expect(breaker.stats().retryAfterMs).toBe(100)
})

test('refusals of an inner breaker are not failures, but the fallback answers', async () => {
  const { breaker: inner } = await opened()
  const { breaker } = made({ failures: 1 })
  expect(await breaker.run(() => inner.run(() => 1), { fallback: () => 'instead' })).toBe('instead')
  expect(breaker.stats()).toMatchObject({ state: 'closed', failed: 0, rejected: 1, inFlight: 0 })
})

test('emits its events, and not to listeners that were removed', async () => {
  const { breaker, clock } = made({ name: 'model-a', failures: 1 })
  const seen: unknown[] = []
  const stops = (['stateChanged', 'called', 'failed', 'fellBack'] as const).map((name) =>
    breaker.on(name, (event) => seen.push([name, event])),
  )
  const key = 'model-a'
  await breaker.run(fail, { fallback: () => 1 })
  await breaker.run(fail).catch(() => undefined)
  clock.tick(60_000)
  await breaker.run(() => 1)
  expect(seen).toEqual([
    ['stateChanged', { key, state: 'open', previous: 'closed' }],
    ['called', { key, outcome: 'failed', late: false }],
    ['failed', { key, error: boom, late: false }],
    ['fellBack', { key, reason: 'failed', error: boom }],
    ['called', { key, outcome: 'rejected', late: false }],
    ['stateChanged', { key, state: 'half-open', previous: 'open' }],
    ['stateChanged', { key, state: 'closed', previous: 'half-open' }],
    ['called', { key, outcome: 'succeeded', late: false }],
  ])
  for (const stop of stops) stop()
  await breaker.run(fail).catch(() => undefined)
  expect(seen).toHaveLength(8)
})

test('wrapped functions keep their arguments, their this and their signal', async () => {
  const { breaker } = made()
  const model = {
    weight: 2,
    score: breaker.wrap(function (this: { weight: number }, input: number, _options?: Call) {
      return input * this.weight
    }),
  }
  expect(await model.score(21)).toBe(42)
  const signal = AbortSignal.abort(boom)
  await expect(model.score(21, { signal })).rejects.toBe(boom)
  expect(breaker.stats()).toMatchObject({ succeeded: 1, rejected: 0 })
})

test('the fallback of a wrapped function gets the arguments of the call', async () => {
  const { breaker } = await opened()
  const score = breaker.wrap((input: number, weight: number) => input * weight, {
    fallback: ({ reason }, input, weight) => `${reason} ${input} ${weight}`,
  })
  expect(await score(3, 4)).toBe('open 3 4')
})

test('wrong options fail early and name what would be right', () => {
  const wrong = (options: object): (() => Breaker) => {
    return () => createBreaker(options as BreakerOptions)
  }
  expect(wrong({ failurs: 5 })).toThrow('createBreaker.failurs is 5; did you mean "failures"?')
  expect(wrong({ failures: 0 })).toThrow('createBreaker.failures is 0; use a whole number of failures from 1')
  expect(wrong({ cooldown: 'soon' })).toThrow('createBreaker.cooldown is "soon"')
  expect(wrong({ cooldown: '1s', maxCooldown: 10 })).toThrow('createBreaker.maxCooldown is 10')
  expect(wrong({ cooldownJitter: 2 })).toThrow('createBreaker.cooldownJitter is 2')
  expect(wrong({ probes: 0 })).toThrow('createBreaker.probes is 0')
  expect(wrong({ probeTimeout: 0.5 })).toThrow('createBreaker.probeTimeout is 0.5')
  expect(wrong({ failureRate: { ratio: 50 } })).toThrow('createBreaker.failureRate.ratio is 50')
  expect(wrong({ failureRate: { windowMs: 5 } })).toThrow(
    'createBreaker.failureRate.windowMs is 5; did you mean "window"',
  )
  expect(wrong({ slowCallRate: {} })).toThrow('createBreaker.slowCallRate.slow is undefined')
  expect(wrong({ isFailure: true })).toThrow('createBreaker.isFailure is true; pass a function')
  expect(wrong({ name: '' })).toThrow('createBreaker.name is ""')
  expect(() => createBreaker({ failures: undefined } as never)).not.toThrow()
  const misspelled = { fallBack: () => 1 } as object
  expect(() => createBreaker().wrap(fail, misspelled)).toThrow(
    'breaker.wrap.fallBack is a function; did you mean "fallback"',
  )
})

test('what is not a function is refused at once, and does not count as a failure', async () => {
  const { breaker } = made({ failures: 1 })
  const promise = Promise.resolve(1) as unknown as () => number
  const remedy = 'pass a function that makes the call'
  await expect(breaker.run(promise, { fallback: () => 2 })).rejects.toThrow(`breaker.run fn is an object; ${remedy}`)
  for (const wrapper of [withTimeout(1), withRetry(), bulkhead(1), breaker.wrap.bind(breaker)]) {
    expect(() => wrapper(promise)).toThrow(remedy)
  }
  expect(breaker.stats()).toMatchObject({ state: 'closed', failed: 0 })
})

test('a function that calls itself through the breaker leaves nothing in flight', async () => {
  const { breaker } = made()
  const countdown = (n: number): Promise<number> => breaker.run(() => (n === 0 ? 0 : countdown(n - 1)))
  expect(await countdown(1000)).toBe(0)
  expect(breaker.stats()).toMatchObject({ succeeded: 1001, inFlight: 0 })
})

test('results and fallbacks keep their types', async () => {
  const { breaker } = made()
  const score = async (_input: string, _options?: Call): Promise<number> => 1
  expectTypeOf(breaker.run(() => score('a'))).resolves.toEqualTypeOf<number>()
  expectTypeOf(breaker.run(() => 'sync')).resolves.toEqualTypeOf<string>()
  expectTypeOf(breaker.run(() => score('a'), { fallback: () => 0.5 })).resolves.toEqualTypeOf<number>()
  expectTypeOf(breaker.run(() => score('a'), { fallback: () => undefined })).resolves.toEqualTypeOf<
    number | undefined
  >()
  expectTypeOf(breaker.run(() => score('a'), { fallback: async () => 'text' })).resolves.toEqualTypeOf<
    number | string
  >()
  const outcome = await breaker.outcome(() => score('a'), { fallback: () => 'text' as const })
  expectTypeOf(outcome).toEqualTypeOf<Outcome<number, 'text'>>()
  if (outcome.degraded) expectTypeOf(outcome.value).toEqualTypeOf<'text'>()
  else expectTypeOf(outcome.value).toEqualTypeOf<number>()
  const wrapped = breaker.wrap(score)
  expectTypeOf<Parameters<typeof wrapped>>().toEqualTypeOf<[_input: string, _options?: Call | undefined]>()
  expectTypeOf(wrapped).returns.resolves.toEqualTypeOf<number>()
  expectTypeOf(breaker.wrap(score, { fallback: () => null })).returns.resolves.toEqualTypeOf<number | null>()
  const viaFetch = () => breaker.run((call) => fetch('http://localhost/', call))
  expectTypeOf(viaFetch).returns.resolves.toEqualTypeOf<Response>()
  // @ts-expect-error: an outcome without a fallback could never be degraded
  await expect(breaker.outcome(() => score('a'), {})).rejects.toThrow('breaker.outcome.fallback is undefined')
  // @ts-expect-error
  await expect(breaker.outcome(() => score('a'))).rejects.toThrow('breaker.outcome.fallback is undefined')
  // @ts-expect-error: the arguments of a wrapped function are those of the function
  wrapped(5)
})

test('a time limit that is over before the call is answered by the fallback, and is not counted as a failure', async () => {
  const { breaker } = made()
  const fn = vi.fn(async () => 1)
  const signal = AbortSignal.abort(new DOMException('too late', 'TimeoutError'))
  expect(await breaker.run(fn, { signal, fallback: () => 0.5 })).toBe(0.5)
  await expect(breaker.run(fn, { signal })).rejects.toThrow('too late')
  await expect(breaker.run(fn, { signal: AbortSignal.abort(boom), fallback: () => 0.5 })).rejects.toBe(boom)
  expect(await breaker.outcome(fn, { signal, fallback: () => 0.5 })).toMatchObject({ degraded: true, reason: 'failed' })
  expect(fn).not.toHaveBeenCalled()
  expect(breaker.stats()).toMatchObject({ cancelled: 4, failed: 0, inFlight: 0, state: 'closed' })
})

test.each([
  [{ fallbak: () => 1 }, 'breaker.run.fallbak is a function; did you mean "fallback"?'],
  [{ fallback: 0.5 }, 'breaker.run.fallback is 0.5; pass a function'],
  [null, 'breaker.run options is null; pass an object, or leave it out'],
])('run refuses the options %j, also when the call would succeed', async (options, message) => {
  const { breaker } = made()
  await expect(breaker.run(() => 1, options as never)).rejects.toThrow(message)
})

test('outcome refuses them too', async () => {
  const { breaker } = made()
  const wrong = { fallback: () => 1, signl: undefined }
  await expect(breaker.outcome(() => 1, wrong as never)).rejects.toThrow('did you mean "signal"?')
})

test('events that do not exist, and listeners that cannot be called, are refused', () => {
  const { breaker } = made()
  expect(() => breaker.on('stateChange' as never, () => {})).toThrow(
    'on event is "stateChange"; did you mean "stateChanged"?',
  )
  expect(() => breaker.on('stateChanged', 5 as never)).toThrow('breaker.on fn is 5; pass a function')
})

test('the error for a number that is too large names the largest', () => {
  expect(() => createBreaker({ cooldown: 2 ** 31 })).toThrow('from 1 to 2147483647')
})
