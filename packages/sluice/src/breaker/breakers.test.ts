import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { type Breakers, type BreakersOptions, createBreakers } from './breakers.ts'

const fail = (): Promise<never> => Promise.reject(new Error('boom'))

const made = (options: BreakersOptions = {}): Breakers =>
  createBreakers({ failures: 1, clock: virtualClock(), ...options })
const trip = (breakers: Breakers, key: string): Promise<unknown> =>
  breakers
    .for(key)
    .run(fail)
    .catch(() => undefined)

test('each key has a separate breaker, and the same one each time', async () => {
  const breakers = made()
  await trip(breakers, 'a')
  expect(breakers.for('a').state).toBe('open')
  expect(breakers.for('b').state).toBe('closed')
  expect(breakers.for('a')).toBe(breakers.for('a'))
})

test('keeps no more breakers than allowed, however many keys are used', async () => {
  const breakers = made({ maxKeys: 100 })
  for (let i = 0; i < 10_000; i++) await breakers.for(`key-${i}`).run(() => 1)
  expect(breakers.size).toBe(100)
  expect(breakers.stats()).toHaveLength(100)
  expect(breakers.totals()).toEqual({ succeeded: 10_000, failed: 0, rejected: 0, cancelled: 0 })
})

test('removes what was not used recently, and what is open only when nothing else is left', async () => {
  const breakers = made({ maxKeys: 3 })
  await trip(breakers, 'open')
  const hot = breakers.for('hot')
  for (let i = 0; i < 100; i++) {
    breakers.for(`key-${i}`)
    expect(breakers.for('hot')).toBe(hot)
  }
  expect(breakers.for('open').state).toBe('open')
  for (let i = 0; i < 100; i++) await trip(breakers, `other-${i}`)
  expect(breakers.size).toBe(3)
  expect(breakers.for('open').state).toBe('closed')
})

test('a breaker that closes again can be removed like the others', async () => {
  const clock = virtualClock()
  const breakers = made({ maxKeys: 2, clock })
  await trip(breakers, 'a')
  clock.tick(60_000)
  const a = breakers.for('a')
  await a.run(() => 1)
  for (let i = 0; i < 10; i++) breakers.for(`key-${i}`)
  expect(breakers.for('a')).not.toBe(a)
})

test('one that was removed but is still referenced keeps working, beside its successor', async () => {
  const breakers = made({ maxKeys: 1 })
  const old = breakers.for('a')
  breakers.for('b')
  const next = breakers.for('a')
  expect(next).not.toBe(old)
  await old.run(fail).catch(() => undefined)
  expect([old.state, next.state, breakers.for('a').state]).toEqual(['open', 'closed', 'closed'])
  expect(breakers.size).toBe(1)
})

test('emits events of all keys, and a single breaker only its own', async () => {
  const breakers = made()
  const all: string[] = []
  const own: string[] = []
  breakers.on('stateChanged', ({ key, state }) => all.push(`${key} ${state}`))
  breakers.for('b').on('stateChanged', ({ key, state }) => own.push(`${key} ${state}`))
  await trip(breakers, 'a')
  await trip(breakers, 'b')
  expect(all).toEqual(['a open', 'b open'])
  expect(own).toEqual(['b open'])
})

test('any two texts are different keys, and what is not a text is refused', async () => {
  const breakers = made()
  await trip(breakers, '__proto__')
  expect(breakers.for('constructor').state).toBe('closed')
  expect(breakers.for('__proto__').state).toBe('open')
  for (const key of ['', undefined, 5, null]) {
    expect(() => breakers.for(key as string)).toThrow(expect.objectContaining({ code: 'SLUICE_INVALID_KEY' }))
  }
  expect(() => createBreakers({ maxKey: 5 } as never)).toThrow('createBreakers.maxKey is 5; did you mean "maxKeys"?')
})
