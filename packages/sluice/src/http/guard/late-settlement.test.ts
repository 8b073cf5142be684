import { expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { limiterGuard } from './limiter-guard.ts'

const view = { method: 'POST', path: '/v1/chat', headers: {}, ip: '203.0.113.1' }

it('charges what a response cost when a store is back that was away when the response ended', async () => {
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const rules = [{ name: 'tokens', key: 'ip', limits: { amount: 10_000, per: '1h' } }]
  const limiter = await createLimiter({ policy: { service: 's', rules }, store, clock, denyCache: false })
  const guard = limiterGuard(limiter, { cost: () => 500, chargeWhen: () => ({ tokens: 9000 }) })
  const { finish } = await guard.decide(view, view)
  store.failing = 'timeout'
  finish!({ status: 200, bytes: 1, completed: true })
  await clock.advance('10s')
  store.failing = undefined
  await clock.advance('30s')
  expect((await limiter.peek(view.ip, { rule: 'tokens' })).limits[0]!.remaining).toBe(1000)
  await limiter.close()
})
