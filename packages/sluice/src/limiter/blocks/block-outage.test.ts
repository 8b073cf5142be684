import { expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createLimiter } from '../create-limiter.ts'

const block = { after: 4, within: '1m', for: '15m', count: 'charges' } as const
const rule = { name: 'log-in', limits: { rpm: 30 }, block, onStoreFailure: 'local' } as const

async function limiterOf(replicas: number) {
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const policy = { service: 's', rules: [rule] }
  const limiter = await createLimiter({ policy, store, clock, replicas, denyCache: false })
  const failedLogIn = async (): Promise<string> => {
    const hold = await limiter.reserve('mallory')
    if (hold.allowed) await hold.settle(1)
    return hold.decision.reason
  }
  const failedLogIns = async (times: number): Promise<string[]> => {
    const reasons: string[] = []
    for (let i = 0; i < times; i++) reasons.push(await failedLogIn())
    return reasons
  }
  return { clock, store, limiter, failedLogIns }
}

it.each([
  [1, ['allowed', 'allowed', 'allowed', 'allowed', 'blocked']],
  [2, ['allowed', 'allowed', 'blocked', 'blocked', 'blocked']],
])('blocks while the store is away, each of %i replicas after its share of the charges', async (replicas, reasons) => {
  const { store, failedLogIns } = await limiterOf(replicas)
  store.failing = 'refused'
  expect(await failedLogIns(5)).toEqual(reasons)
})

it('keeps a block that it knows of while the store is away, until it ends', async () => {
  const { clock, store, limiter, failedLogIns } = await limiterOf(2)
  await failedLogIns(5)
  store.failing = 'refused'
  expect(await limiter.take('mallory')).toMatchObject({ reason: 'blocked', degraded: true, retryAfterMs: 900_000 })
  await clock.advance('15m')
  expect(await limiter.take('mallory')).toMatchObject({ allowed: true, degraded: true })
})

it('keeps no block that was ended before the store went away', async () => {
  const { store, limiter, failedLogIns } = await limiterOf(2)
  await failedLogIns(5)
  await limiter.unblock('mallory')
  expect((await limiter.take('mallory')).allowed).toBe(true)
  store.failing = 'refused'
  expect(await limiter.take('mallory')).toMatchObject({ allowed: true, degraded: true })
})
