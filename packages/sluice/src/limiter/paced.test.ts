import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const noon = Date.UTC(2026, 5, 1, 12)
const policy = {
  service: 'shop',
  rules: [
    {
      name: 'campaign',
      key: 'headers.x-offer',
      limits: { amount: 2400, per: 'day', pace: { burst: 60 } },
      onStoreFailure: 'local',
    },
  ],
} as const

it('explain and inspect say where on its curve a paced limit stands', async () => {
  const clock = virtualClock(noon)
  const limiter = await createLimiter({ policy, store: memoryStore({ clock }), clock })
  for (let i = 0; i < 25; i++) await limiter.take('spring')
  const stands = { name: 'per-day-pace', remaining: 35, pace: { planned: 1200, spent: 25, burst: 60 } }
  expect((await limiter.inspect('spring')).limits[1]).toMatchObject(stands)
  const request = { method: 'GET', path: '/', headers: { 'x-offer': 'spring' } }
  const { rules, decision } = await limiter.explain(request as never)
  expect(rules[0]!.limits[1]).toMatchObject(stands)
  expect(decision.limits[1]).toMatchObject(stands)
})

it('what a paced limit admitted locally is told to the store, all of it', async () => {
  const clock = virtualClock(noon)
  const store = switchedStore(memoryStore({ clock }))
  const limiter = await createLimiter({ policy, store, clock, replicas: 1, breaker: { failures: 1_000_000 } })
  store.failing = 'refused'
  let admitted = 0
  for (let minute = 0; minute < 120; minute++) {
    clock.tick('1m')
    for (let i = 0; i < 5; i++) if ((await limiter.take('spring')).allowed) admitted += 1
  }
  // 60 at once, and one and a half times 100 per hour: more than the bucket ever holds.
  expect(admitted).toBeGreaterThan(300)
  store.failing = undefined
  await limiter.take('other')
  await clock.advance('1s')
  expect((await limiter.inspect('spring')).limits[1]!.pace!.spent).toBe(admitted)
})
