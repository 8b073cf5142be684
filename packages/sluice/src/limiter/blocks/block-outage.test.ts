import { expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { createLimiter } from '../create-limiter.ts'

const block = { after: 4, within: '1m', for: '15m', count: 'charges' } as const
const rule = { name: 'log-in', limits: { rpm: 30 }, block, onStoreFailure: 'local' } as const

async function limiterOf(replicas: number) {
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const policy = { service: 's', rules: [rule] }
  const limiter = await createLimiter({ policy, store, clock, replicas, denyCache: false })
  const other = await createLimiter({ policy, store, clock, replicas, denyCache: false })
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
  const recover = async (): Promise<void> => {
    store.failing = undefined
    await clock.advance('1s')
    await waitFor(async () => !(await limiter.take('somebody')).degraded)
  }
  return { clock, store, limiter, other, failedLogIns, recover }
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

it('reports a block that it made while the store was away, for the rest of its time', async () => {
  const { clock, store, other, limiter, failedLogIns, recover } = await limiterOf(1)
  store.failing = 'refused'
  await failedLogIns(5)
  await clock.advance('5m')
  await recover()
  await waitFor(async () => (await other.peek('mallory')).reason === 'blocked')
  const { retryAfterMs, degraded } = await other.take('mallory')
  expect({ degraded, isRest: retryAfterMs > 590_000 && retryAfterMs <= 600_000 }).toEqual({
    degraded: false,
    isRest: true,
  })
  // Who is let in again is not blocked by the memory of a replica.
  await other.unblock('mallory')
  expect((await limiter.take('mallory')).allowed).toBe(true)
  store.failing = 'refused'
  expect(await limiter.take('mallory')).toMatchObject({ allowed: true, degraded: true })
})

it('does not shorten a longer block by its report', async () => {
  const { store, other, limiter, failedLogIns, recover } = await limiterOf(1)
  await limiter.take('warm')
  store.failing = 'refused'
  await failedLogIns(5)
  store.failing = undefined
  await other.block('mallory', { for: '24h' })
  await recover()
  expect((await limiter.take('mallory')).retryAfterMs).toBeGreaterThan(23 * 3_600_000)
})

it('does not block again who was let in elsewhere while it had no store', async () => {
  const { store, other, limiter, failedLogIns, recover } = await limiterOf(1)
  await failedLogIns(5)
  store.failing = 'refused'
  expect((await limiter.take('mallory')).reason).toBe('blocked')
  store.failing = undefined
  await other.unblock('mallory')
  await recover()
  expect((await limiter.take('mallory')).allowed).toBe(true)
})
