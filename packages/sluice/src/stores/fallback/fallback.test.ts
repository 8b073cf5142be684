import { afterEach, expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterOptions } from '../../limiter/limiter-options.ts'
import { silentStore, switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { memoryStore } from '../memory/memory-store.ts'
import type { Store } from '../store.ts'
import { wrapStore } from '../wrap-store.ts'

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

const rule = (onStoreFailure: 'open' | 'closed' | 'local') => ({
  name: onStoreFailure,
  limits: { rph: 100 },
  onStoreFailure,
})

const clock = virtualClock()

async function limiterOn(store: Store, options: Partial<LimiterOptions> = {}): Promise<Limiter> {
  const policy = { service: 'withFallback', rules: [rule('open'), rule('closed'), rule('local')] }
  const limiter = await createLimiter({
    policy,
    store,
    replicas: 4,
    denyCache: false,
    breaker: { cooldown: 20 },
    clock,
    ...options,
  })
  limiters.push(limiter)
  return limiter
}

test('open allows, closed denies for its own reason, local decides on the share; all say that they are degraded, and why', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store)
  store.failing = 'oom'
  expect(await limiter.take('a', { rule: 'open' })).toMatchObject({
    allowed: true,
    degraded: true,
    failure: 'oom',
    limits: [],
  })
  expect(await limiter.take('a', { rule: 'closed' })).toMatchObject({
    allowed: false,
    degraded: true,
    failure: 'oom',
    reason: 'unavailable',
    rule: 'closed',
  })
  const local = await limiter.take('a', { rule: 'local' })
  expect(local).toMatchObject({ allowed: true, degraded: true, failure: 'oom' })
  expect(local.limits[0]).toMatchObject({ amount: 25, remaining: 24 })
  const denied = await limiter.take('a', { rule: 'local', cost: 25 })
  expect(denied).toMatchObject({ allowed: false, degraded: true, reason: 'quota' })
})

test('after five failures in a row the store is not asked, and after the cooldown it is asked once', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store, { breaker: { cooldown: 60_000 } })
  store.failing = 'refused'
  for (let i = 0; i < 5; i++) expect((await limiter.take('a', { rule: 'open' })).failure).toBe('refused')
  const { asked } = store
  const decisions = await Promise.all(Array.from({ length: 1000 }, () => limiter.take('a', { rule: 'open' })))
  expect(new Set(decisions.map(({ failure }) => failure))).toEqual(new Set(['breaker']))
  expect(store.asked).toBe(asked)
  await clock.advance('60s')
  await Promise.all(Array.from({ length: 1000 }, () => limiter.take('a', { rule: 'open' })))
  expect(store.asked).toBe(asked + 1)
})

test('a thousand callers at half-open send one probe, and its success closes the breaker', async () => {
  const memory = memoryStore()
  const store = switchedStore(wrapStore(memory, { decide: async (ask, withinMs) => memory.decide(ask, withinMs) }))
  const limiter = await limiterOn(store)
  const states: string[] = []
  limiter.on('breakerChanged', ({ state }) => states.push(state))
  store.failing = 'timeout'
  await Promise.all(Array.from({ length: 5 }, () => limiter.take('a', { rule: 'open' })))
  store.failing = undefined
  const { asked } = store
  await clock.advance(20)
  const burst = await Promise.all(Array.from({ length: 1000 }, () => limiter.take('a', { rule: 'open' })))
  expect(burst.filter(({ degraded }) => !degraded)).toHaveLength(1)
  expect(store.asked).toBe(asked + 1)
  expect(states).toEqual(['open', 'half-open', 'closed'])
  expect((await limiter.take('a', { rule: 'open' })).degraded).toBe(false)
})

test('a probe that fails for whoever resets still ends the probe', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store)
  store.failing = 'timeout'
  await Promise.all(Array.from({ length: 5 }, () => limiter.take('a', { rule: 'open' })))
  await clock.advance(20)
  await expect(limiter.reset('a', { rule: 'open' })).rejects.toMatchObject({ kind: 'timeout' })
  store.failing = undefined
  await clock.advance(20)
  expect((await limiter.take('a', { rule: 'open' })).degraded).toBe(false)
})

test('a store that answers at once can close the breaker too', async () => {
  const memory = memoryStore()
  let failing = true
  const store = wrapStore(memory, {
    decide: (ask, withinMs) => {
      if (failing) throw new Error('broken')
      return memory.decide(ask, withinMs)
    },
  })
  const limiter = await limiterOn(store)
  for (let i = 0; i < 5; i++) expect((await limiter.take('a', { rule: 'open' })).failure).toBe('other')
  failing = false
  await clock.advance(20)
  expect((await limiter.take('a', { rule: 'open' })).degraded).toBe(false)
  expect((await limiter.health()).store.breaker).toBe('closed')
})

test('faults of one key do not open the breaker', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store)
  store.failing = 'wrongtype'
  for (let i = 0; i < 20; i++) expect((await limiter.take('a', { rule: 'closed' })).failure).toBe('wrongtype')
  expect((await limiter.health()).store.breaker).toBe('closed')
})

test('a store that never answers is not waited for', async () => {
  const limiter = await limiterOn(silentStore(memoryStore()), { deadline: 20 })
  const decision = limiter.take('a', { rule: 'closed' })
  await clock.advance(20)
  expect(await decision).toMatchObject({ reason: 'unavailable', failure: 'timeout' })
})

test('failures are announced by kind, with their error', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store)
  const kinds: string[] = []
  limiter.on('storeFailed', ({ kind, error }) => kinds.push(`${kind} ${error.name}`))
  for (const kind of ['timeout', 'oom', 'readonly'] as const) {
    store.failing = kind
    await limiter.take('a', { rule: 'open' })
  }
  expect(kinds).toEqual(['timeout StoreError', 'oom StoreError', 'readonly StoreError'])
})
