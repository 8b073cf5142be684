import { describe, expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createBreakers } from './breakers.ts'
import { createBreaker } from './create-breaker.ts'

const fail = (): Promise<never> => Promise.reject(new Error('boom'))

describe('a breaker', () => {
  test('that is isolated admits nothing, not even a probe, until it is restored', async () => {
    const clock = virtualClock()
    const breaker = createBreaker({ failures: 2, cooldown: '1s', clock })
    breaker.isolate()
    await clock.advance('1h')
    await expect(breaker.run(() => 1)).rejects.toMatchObject({
      code: 'SLUICE_BREAKER_OPEN',
      message: 'The breaker "default" is isolated by hand.',
      retryAfterMs: Infinity,
    })
    expect(breaker.stats()).toMatchObject({ state: 'open', isolated: true, retryAfterMs: Infinity })
    expect((await breaker.health()).warnings).toEqual(['The breaker "default" is isolated by hand.'])
    breaker.restore()
    expect(await breaker.run(() => 1)).toBe(1)
    expect(breaker.stats()).toMatchObject({ state: 'closed', isolated: false })
  })

  test('that opened by itself closes at once when it is restored, with its counts at zero', async () => {
    const breaker = createBreaker({ failures: 2, clock: virtualClock() })
    await Promise.allSettled([breaker.run(fail), breaker.run(fail)])
    expect(breaker.state).toBe('open')
    breaker.restore()
    await expect(breaker.run(fail)).rejects.toThrow('boom')
    expect(breaker.state).toBe('closed')
  })

  test('ignores what calls from before it was isolated turn out to be', async () => {
    const breaker = createBreaker({ failures: 1, clock: virtualClock() })
    let end = (): void => undefined
    const slow = breaker.run(() => new Promise<void>((resolve) => (end = resolve)))
    breaker.isolate()
    end()
    await slow
    expect(breaker.stats()).toMatchObject({ isolated: true, late: 1 })
  })

  test('judges results: one that is a failure counts, and reaches the caller', async () => {
    const isFailedResult = (result: unknown) => (result as { status: number }).status >= 500
    const breaker = createBreaker({ failures: 2, isFailedResult, clock: virtualClock() })
    const failures: unknown[] = []
    breaker.on('failed', ({ error, result }) => failures.push([error, result]))
    const answer = (status: number) => breaker.run(() => ({ status }), { fallback: () => 'instead' })
    expect(await answer(503)).toEqual({ status: 503 })
    expect(await answer(200)).toEqual({ status: 200 })
    expect([await answer(500), await answer(502)]).toEqual([{ status: 500 }, { status: 502 }])
    expect(await answer(200)).toBe('instead')
    expect(failures).toHaveLength(3)
    expect(failures[0]).toEqual([undefined, { status: 503 }])
    // A result that cannot be judged shows nothing good.
    const strict = createBreaker({ failures: 1, isFailedResult, clock: virtualClock() })
    expect(await strict.run(() => undefined)).toBeUndefined()
    expect(strict.state).toBe('open')
  })

  test('opens as an earlier one was saved, for the rest of its time by the wall clock', async () => {
    const clock = virtualClock()
    const options = { failures: 1, cooldown: '1m', maxCooldown: '10m', clock } as const
    const before = createBreaker(options)
    await Promise.allSettled([before.run(fail)])
    await clock.advance('20s')
    const saved = JSON.parse(JSON.stringify(before.save()))
    await clock.advance('10s')
    const after = createBreaker({ ...options, saved })
    expect(after.stats()).toMatchObject({ state: 'open', retryAfterMs: 30_000 })
    await clock.advance('30s')
    await expect(after.run(fail)).rejects.toThrow('boom')
    // The second opening in a row.
    expect(after.stats().retryAfterMs).toBe(120_000)
    expect(createBreaker({ ...options, saved: createBreaker(options).save() }).state).toBe('closed')
    before.isolate()
    expect(createBreaker({ ...options, saved: JSON.parse(JSON.stringify(before.save())) }).stats().isolated).toBe(true)
    for (const wrong of [{}, null, 'open', { open: { default: { until: 'soon', openings: 1 } } }])
      expect(() => createBreaker({ saved: wrong as never })).toThrow(/createBreaker.saved is .*pass what save/)
  })
})

describe('a set of breakers', () => {
  test('saves those that are not closed, and opens them again', async () => {
    const clock = virtualClock()
    const before = createBreakers({ failures: 1, clock })
    await before.for('good').run(() => 1)
    await Promise.allSettled([before.for('bad').run(fail)])
    before.for('away').isolate()
    const after = createBreakers({ failures: 1, clock, saved: JSON.parse(JSON.stringify(before.save())) })
    expect(after.stats().map(({ key, state, isolated }) => [key, state, isolated])).toEqual([
      ['bad', 'open', false],
      ['away', 'open', true],
    ])
    after.for('away').restore()
    expect(await after.for('away').run(() => 1)).toBe(1)
    expect(after.stats().find(({ key }) => key === 'away')!.state).toBe('closed')
  })

  test('of a hundred thousand keys that all fail keeps maxKeys, and what was isolated longest', async () => {
    const breakers = createBreakers({ failures: 1, maxKeys: 1000, clock: virtualClock() })
    breakers.for('isolated').isolate()
    for (let i = 0; i < 100_000; i++) await breakers.for(`key ${i}`).run(fail, { fallback: () => 0 })
    expect(breakers.size).toBe(1000)
    expect(breakers.for('isolated').stats().isolated).toBe(true)
    const all = createBreakers({ maxKeys: 10, clock: virtualClock() })
    for (let i = 0; i < 1000; i++) all.for(`key ${i}`).isolate()
    expect(all.size).toBe(10)
  })
})
