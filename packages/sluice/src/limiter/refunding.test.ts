import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'

describe('a refund', () => {
  const clock = virtualClock()
  let limiter: Limiter

  beforeEach(async () => {
    const limits = [{ amount: 10, per: '1m', align: 'clock' as const }]
    const policy = { service: 's', rules: [{ name: 'r', limits }] }
    limiter = await createLimiter({ policy, store: memoryStore({ clock }) })
  })
  afterEach(() => limiter.close())

  const left = async () => (await limiter.peek('k')).limits[0]!.remaining

  it('of units of a window that is over gives back nothing to the next one', async () => {
    const takenAtMs = clock.now() / 1000
    await limiter.take('k', { cost: 10 })
    clock.tick('1m')
    await limiter.take('k', { cost: 10 })
    await limiter.refund('k', { cost: 10, takenAt: takenAtMs })
    expect(await left()).toBe(0)
  })

  it('goes to the window that the units were taken from while it lasts', async () => {
    const takenAtMs = clock.now() / 1000
    await limiter.take('k', { cost: 10 })
    clock.tick('59s')
    await limiter.refund('k', { cost: 4, takenAt: takenAtMs })
    expect(await left()).toBe(4)
    await limiter.refund('k', { cost: 1 })
    expect(await left()).toBe(5)
  })

  it('refuses a time that is none', async () => {
    await expect(limiter.refund('k', { takenAt: Number.NaN })).rejects.toMatchObject({
      code: 'SLUICE_INVALID_OPTION',
    })
  })
})
