import { afterEach, expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type SwitchedStore, switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { memoryStore } from '../memory/memory-store.ts'
import type { Store } from '../store.ts'

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

/** Replicas of one service over one store that can go away; what they count together stays when they go. */
async function replicasOf(
  count: number,
  amount: number,
  algorithm: 'fixed-window' | 'gcra' | 'sliding-log' = 'fixed-window',
): Promise<{ replicas: Limiter[]; away: SwitchedStore; central: Store }> {
  const central = memoryStore({ clock: virtualClock() })
  const away = switchedStore(central)
  const policy = {
    service: 'local',
    rules: [{ name: 'r', limits: [{ amount, per: '1h', algorithm }], onStoreFailure: 'local' as const }],
  }
  const replicas: Limiter[] = []
  for (let i = 0; i < count; i++)
    replicas.push(
      await createLimiter({ policy, store: away, replicas: count, denyCache: false, breaker: { cooldown: 1 } }),
    )
  limiters.push(...replicas)
  return { replicas, away, central }
}

async function admitted(limiter: Limiter, asks: number): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: asks }, () => limiter.take('one')))
  return decisions.filter(({ allowed }) => allowed).length
}

test.each(['fixed-window', 'gcra', 'sliding-log'] as const)(
  'four replicas without the store admit the limit together, not four times it: %s',
  async (algorithm) => {
    for (const amount of [1, 3, 4, 100, 1001]) {
      const { replicas, away } = await replicasOf(4, amount, algorithm)
      away.failing = 'refused'
      let sum = 0
      for (const replica of replicas) sum += await admitted(replica, amount + 1)
      expect(sum).toBeGreaterThanOrEqual(amount)
      expect(sum).toBeLessThanOrEqual(amount + 4)
    }
  },
)

test('what was admitted locally is told to the store when it is back', async () => {
  const { replicas, away } = await replicasOf(4, 100)
  const [first] = replicas as [Limiter]
  await admitted(first, 10)
  away.failing = 'refused'
  expect(await admitted(first, 50)).toBe(25)
  away.failing = undefined
  await waitFor(async () => !(await first.peek('one')).degraded)
  await waitFor(async () => (await replicas[1]!.peek('one')).limits[0]!.remaining === 100 - 10 - 25)
})

test('an outage is not a free window: a limit used up locally is used up when the store is back', async () => {
  const { replicas, away } = await replicasOf(4, 100)
  away.failing = 'timeout'
  for (const replica of replicas) await admitted(replica, 100)
  away.failing = undefined
  for (const replica of replicas) await waitFor(async () => !(await replica.peek('one')).degraded)
  await waitFor(async () => (await replicas[0]!.peek('one')).limits[0]!.remaining === 0)
  for (const replica of replicas) expect(await admitted(replica, 10)).toBe(0)
})

test('a store that comes and goes does not give the share a second time', async () => {
  const { replicas, away } = await replicasOf(4, 100)
  const [first] = replicas as [Limiter]
  let local = 0
  for (let outage = 0; outage < 5; outage++) {
    away.failing = 'refused'
    local += await admitted(first, 30)
    away.failing = undefined
    await waitFor(async () => !(await first.peek('one')).degraded)
  }
  expect(local).toBe(25)
  await waitFor(async () => (await first.peek('one')).limits[0]!.remaining === 75)
})

test('a report that fails is made later, and each unit is told once', async () => {
  const { replicas, away, central } = await replicasOf(2, 100)
  const [first] = replicas as [Limiter]
  away.failing = 'refused'
  expect(await admitted(first, 20)).toBe(20)
  const decide = central.decide
  let refused = 0
  central.decide = (ask, ms) => {
    if (ask.kind === 'debit' && refused++ < 3) throw Object.assign(new Error('not now'))
    return decide.call(central, ask, ms)
  }
  away.failing = undefined
  await waitFor(async () => (await first.peek('one')).limits[0]?.remaining === 80)
  await first.peek('one')
  expect((await first.peek('one')).limits[0]!.remaining).toBe(80)
  expect(refused).toBe(4)
})

test('what is held without the store is renewed, and settled at what it cost, for as long as it takes', async () => {
  const clock = virtualClock()
  const away = switchedStore(memoryStore({ clock }))
  const rules = [
    { name: 'jobs', limits: { amount: 1, algorithm: 'concurrency' as const }, onStoreFailure: 'local' as const },
    { name: 'tokens', limits: { amount: 10, per: '1h' }, onStoreFailure: 'local' as const },
  ]
  const limiter = await createLimiter({ policy: { service: 'local', rules }, store: away, replicas: 1, clock })
  limiters.push(limiter)
  away.failing = 'refused'
  const job = await limiter.acquire('k', { rule: 'jobs', ttl: '3s' })
  const tokens = await limiter.reserve('k', { rule: 'tokens', cost: 4, ttl: '3s' })
  for (let i = 0; i < 10; i++) await clock.advance('1s')
  expect((await limiter.acquire('k', { rule: 'jobs' })).allowed).toBe(false)
  expect(await tokens.settle(6)).toBe(true)
  expect(await limiter.peek('k', { rule: 'tokens' })).toMatchObject({ limits: [{ remaining: 4 }], degraded: true })
  expect(await job.extend('1m')).toBe(true)
  expect(await job.release()).toBe(true)
  expect((await limiter.acquire('k', { rule: 'jobs' })).allowed).toBe(true)
  away.failing = undefined
  await clock.advance('1s')
  await waitFor(async () => {
    const { limits, degraded } = await limiter.peek('k', { rule: 'tokens' })
    return !degraded && limits[0]?.remaining === 4
  })
})
