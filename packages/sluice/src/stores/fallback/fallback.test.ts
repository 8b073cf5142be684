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

test('after five failures in a row callers no longer reach the store; one probe does, after each cooldown', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store, { breaker: { cooldown: 60_000 } })
  store.failing = 'refused'
  for (let i = 0; i < 5; i++) expect((await limiter.take('a', { rule: 'open' })).failure).toBe('refused')
  const { asked } = store
  const many = () => Promise.all(Array.from({ length: 1000 }, () => limiter.take('a', { rule: 'open' })))
  expect(new Set((await many()).map(({ failure }) => failure))).toEqual(new Set(['breaker']))
  await expect(limiter.reset('a', { rule: 'open' })).rejects.toMatchObject({ kind: 'breaker' })
  expect(store.asked).toBe(asked)
  for (let probes = 1; probes <= 3; probes++) {
    await clock.advance('60s')
    expect(new Set((await many()).map(({ failure }) => failure))).toEqual(new Set(['breaker']))
    expect(store.asked).toBe(asked + probes)
  }
})

test('when the store is back a probe has found out before anybody asks: nobody is refused, and nothing is spent', async () => {
  const memory = memoryStore()
  const store = switchedStore(wrapStore(memory, { decide: async (ask, withinMs) => memory.decide(ask, withinMs) }))
  const limiter = await limiterOn(store)
  const states: string[] = []
  limiter.on('breakerChanged', ({ state }) => states.push(state))
  store.failing = 'timeout'
  await Promise.all(Array.from({ length: 5 }, () => limiter.take('a', { rule: 'closed' })))
  store.failing = undefined
  const { asked } = store
  await clock.advance(20)
  expect(store.asked).toBe(asked + 1)
  const burst = await Promise.all(Array.from({ length: 50 }, () => limiter.take('a', { rule: 'closed' })))
  expect(burst.filter(({ allowed, degraded }) => allowed && !degraded)).toHaveLength(50)
  expect((await limiter.peek('a', { rule: 'closed' })).limits[0]!.remaining).toBe(50)
  expect(states).toEqual(['open', 'half-open', 'closed'])
})

test('a probe for which this process was too busy is followed by another', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store)
  store.failing = 'timeout'
  for (let i = 0; i < 5; i++) await limiter.take('a', { rule: 'open' })
  store.failing = 'overload'
  const { asked } = store
  for (let probes = 1; probes <= 3; probes++) {
    await clock.advance(20)
    expect(store.asked).toBe(asked + probes)
  }
  store.failing = undefined
  await clock.advance(20)
  expect(await limiter.take('a', { rule: 'open' })).toMatchObject({ degraded: false })
})

test('a closed limiter probes no more', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await limiterOn(store)
  store.failing = 'timeout'
  await Promise.all(Array.from({ length: 5 }, () => limiter.take('a', { rule: 'open' })))
  await limiter.close()
  const { asked } = store
  await clock.advance('1m')
  expect(store.asked).toBe(asked)
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

test('a store that never answers does not keep the limiter from closing', async () => {
  const limiter = await limiterOn(silentStore(memoryStore()), { deadline: 20 })
  for (let i = 0; i < 3; i++) {
    const decision = limiter.take('a', { rule: 'local' })
    await clock.advance(20)
    expect(await decision).toMatchObject({ by: 'local' })
  }
  const closed = limiter.close()
  await clock.advance(20)
  await closed
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
