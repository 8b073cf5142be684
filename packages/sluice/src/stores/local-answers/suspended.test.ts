import { expect, it } from 'vitest'
import type { Charge } from '../../core/engine/ask.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { fallback } from '../fallback/fallback.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { wrapStore } from '../wrap-store.ts'
import { localAnswers } from './local-answers.ts'

it('units of a lease do not outlive their window when the machine was suspended', async () => {
  const limit = 64_000
  const clock = virtualClock()
  const inner = memoryStore({ clock })
  const store = wrapStore(inner, { decide: async (ask) => inner.decide(ask, 0) })
  const before = fallback(store, { failures: 5, cooldownMs: 1000, replicas: () => 1, clock })
  const leased = localAnswers(before, { denyCache: undefined, lease: { aheadMs: 20, maxUnits: 5000 }, clock })
  const policy = { service: 's', rules: [{ name: 'hot', limits: { amount: limit, per: '1h' }, lease: true }] }
  const rule = compilePolicy(policy).rule('hot')!
  const charge: Charge = { rule, subject: 'a', limits: rule.limitsFor('a', undefined, 0), cost: 1 }
  let local = 0
  leased.watch({ local: () => local++ })
  const take = async () => leased.decide({ kind: 'take', charges: [charge], copies: 1, hold: undefined }, 500)

  for (let i = 0; i < 50; i++) {
    await Promise.all(Array.from({ length: 100 }, take))
    await clock.advance(10)
  }
  expect(local, 'units drawn ahead').toBeGreaterThan(1000)
  // The wall clock, which the store counts by, goes on; the monotonic clock stood still.
  clock.set(clock.now() / 1000 + 2 * 3_600_000)
  let admitted = 0
  while ((await take()).allowed) admitted++
  expect(admitted).toBeLessThanOrEqual(limit)
  await leased.close()
})

it('a denial does not outlast what the store would deny, when the machine was suspended', async () => {
  const clock = virtualClock()
  const inner = memoryStore({ clock })
  const store = wrapStore(inner, { decide: async (ask) => inner.decide(ask, 0) })
  const policy = { service: 's', rules: [{ name: 'r', limits: { amount: 1, per: '1h' } }] }
  const limiter = await createLimiter({ policy, store, clock, denyCache: { maxAge: '2h' } })
  await limiter.take('k')
  expect((await limiter.take('k')).allowed).toBe(false)
  clock.set(clock.now() / 1000 + 1_800_000)
  expect(await limiter.take('k')).toMatchObject({ by: 'deny-cache', retryAfterMs: 1_800_000 })
  clock.set(clock.now() / 1000 + 1_800_000)
  expect((await limiter.take('k')).allowed).toBe(true)
  await limiter.close()
})
