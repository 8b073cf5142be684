import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, it, vi } from 'vitest'
import { StoreError } from '../../core/errors.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { limiterGuard } from './limiter-guard.ts'
import { settlements } from './settlements.ts'

afterEach(() => vi.restoreAllMocks())

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

it('what waits to be settled keeps no request', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const rules = [{ name: 'tokens', key: 'ip', limits: { amount: 1000, per: '1h' } }]
  const limiter = await createLimiter({ policy: { service: 's', rules }, store, clock, denyCache: false })
  const guard = limiterGuard<object>(limiter, { cost: () => 1, chargeWhen: () => ({ tokens: 2 }) })
  const requests: WeakRef<object>[] = []
  const begin = async (): Promise<() => void> => {
    const request = {}
    requests.push(new WeakRef(request))
    const { finish } = await guard.decide(view, request)
    return () => finish!({ status: 200, bytes: 1, completed: true })
  }
  let ends = await Promise.all(Array.from({ length: 100 }, begin))
  store.failing = 'timeout'
  for (const end of ends) end()
  ends = []
  await clock.advance('10s')
  collect()
  expect(requests.filter((each) => each.deref() !== undefined).length).toBeLessThan(5)
  store.failing = undefined
  await clock.advance('1m')
  expect((await limiter.peek(view.ip)).limits[0]!.remaining).toBe(800)
  await limiter.close()
})

it('a bounded number waits to be settled, and what is given up is told once with its number', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const clock = virtualClock()
  const settleLater = settlements(clock, 1000)
  let isAway = true
  let settled = 0
  for (let i = 0; i < 1020; i++)
    settleLater(async () => {
      if (isAway) throw new StoreError('timeout', 'no answer')
      settled += 1
      return true
    })
  await clock.advance('15s')
  const told = () => (warn.mock.calls as unknown[][]).map(([message]) => message)
  expect(told()).toEqual([expect.stringContaining('What 20 responses were to be charged')])
  isAway = false
  await clock.advance('1m')
  expect(settled).toBe(1000)
  isAway = true
  settleLater(() => Promise.reject(new StoreError('timeout', 'no answer')))
  await clock.advance('3m')
  expect(told()).toHaveLength(2)
  expect(told()[1]).toContain('What 1 response was to be charged')
})
