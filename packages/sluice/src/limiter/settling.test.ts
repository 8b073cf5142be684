import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'

const request = (tokens?: number) => ({
  ...{ method: 'POST', path: '/v1/complete', headers: { 'x-key': 'k' } },
  body: tokens === undefined ? {} : { max_tokens: tokens },
})

describe('settling what several rules were charged', () => {
  let limiter: Limiter

  beforeEach(async () => {
    limiter = await createLimiter({
      policy: {
        service: 'llm',
        rules: [
          { name: 'rpm', key: 'headers.x-key', limits: { rpm: 10 } },
          { name: 'tpm', key: 'headers.x-key', limits: { rpm: 10_000 }, cost: 'body.max_tokens ?? 100' },
          { name: 'own', limits: { rpm: 1000 } },
        ],
      },
    })
  })
  afterEach(() => limiter.close())

  const used = async () => {
    const left = async (rule: string) => (await limiter.peek('k', { rule })).limits[0]!.remaining
    return { rpm: 10 - (await left('rpm')), tpm: 10_000 - (await left('tpm')) }
  }

  it('corrects the rules whose cost was estimated, and leaves the others', async () => {
    for (let i = 1; i <= 3; i++) {
      const hold = await limiter.reserve(request(4000))
      expect(hold.allowed).toBe(true)
      expect(await hold.settle(1240)).toBe(true)
      expect(await used()).toEqual({ rpm: i, tpm: i * 1240 })
    }
  })

  it('takes a cost that the caller gives for the estimate', async () => {
    const hold = await limiter.reserve(request(), { cost: 4000 })
    expect(await used()).toEqual({ rpm: 1, tpm: 4000 })
    await hold.settle(5000)
    expect(await used()).toEqual({ rpm: 1, tpm: 5000 })
    await limiter.check(request(), { cost: 7 })
    expect(await used()).toEqual({ rpm: 2, tpm: 5007 })
  })

  it('corrects by the name of a rule', async () => {
    const hold = await limiter.reserve(request(4000))
    await hold.settle({ tpm: 1240 })
    expect(await used()).toEqual({ rpm: 1, tpm: 1240 })
    const free = await limiter.reserve(request(4000))
    await free.settle({ rpm: 0 })
    expect(await used()).toEqual({ rpm: 1, tpm: 5240 })
  })

  it('gives everything back for zero, as cancelling does', async () => {
    await (await limiter.reserve(request(4000))).settle(0)
    await (await limiter.reserve(request(4000))).cancel()
    expect(await used()).toEqual({ rpm: 0, tpm: 0 })
  })

  it('does the same by id, from elsewhere', async () => {
    await limiter.reserve(request(4000), { id: 'a' })
    await limiter.reserve(request(4000), { id: 'b' })
    expect(await limiter.settle(request(4000), 'a', 1240)).toBe(true)
    expect(await limiter.settle(request(4000), 'b', { tpm: 60 })).toBe(true)
    expect(await used()).toEqual({ rpm: 2, tpm: 1300 })
  })

  it('corrects all rules where none estimates', async () => {
    const hold = await limiter.reserve('k', { rule: 'own', cost: 500 })
    await hold.settle(20)
    expect((await limiter.peek('k', { rule: 'own' })).limits[0]!.remaining).toBe(980)
  })

  it('refuses what names no rule or is no cost, and leaves the hold open', async () => {
    const hold = await limiter.reserve(request(4000))
    await expect(hold.settle({ tmp: 1240 })).rejects.toMatchObject({ code: 'SLUICE_UNKNOWN_RULE' })
    await expect(hold.settle({ tpm: 1.5 })).rejects.toMatchObject({ code: 'SLUICE_INVALID_COST' })
    await expect(hold.settle(-1)).rejects.toMatchObject({ code: 'SLUICE_INVALID_COST' })
    expect(await hold.settle(1240)).toBe(true)
    expect(await used()).toEqual({ rpm: 1, tpm: 1240 })
  })
})

describe('await using', () => {
  it('gives back what was reserved and not settled, also when the block throws', async () => {
    const limiter = await createLimiter({ limits: { rpm: 10 } })
    const left = async () => (await limiter.peek('a')).limits[0]!.remaining
    const fail = async () => {
      await using hold = await limiter.reserve('a', { cost: 4 })
      expect(hold.allowed).toBe(true)
      expect(await left()).toBe(6)
      throw new Error('of the block')
    }
    await expect(fail()).rejects.toThrow('of the block')
    expect(await left()).toBe(10)
    {
      await using hold = await limiter.reserve('a', { cost: 4 })
      await hold.settle(3)
    }
    expect(await left()).toBe(7)
    await limiter.close()
  })

  it('frees the place that was acquired and keeps what else was spent', async () => {
    const limits = [
      { amount: 1, algorithm: 'concurrency' },
      { name: 'rpm', amount: 10, per: '1m' },
    ] as const
    const limiter = await createLimiter({ limits })
    for (let i = 1; i <= 3; i++) {
      const { decision, hold } = await limiter.admit('a')
      await using place = hold
      expect([decision.allowed, place?.allowed]).toEqual([true, true])
      expect((await limiter.take('a')).allowed).toBe(false)
    }
    const rpm = (await limiter.peek('a')).limits.find(({ name }) => name === 'rpm')
    expect(rpm?.remaining).toBe(7)
    await limiter.close()
  })

  it('does nothing for a hold that was denied', async () => {
    const limiter = await createLimiter({ limits: { rpm: 1 } })
    await limiter.take('a')
    {
      await using hold = await limiter.reserve('a')
      expect(hold.allowed).toBe(false)
    }
    expect((await limiter.peek('a')).limits[0]!.remaining).toBe(0)
    await limiter.close()
  })

  it('keeps the error of the block when the store cannot end the hold', async () => {
    const store = memoryStore()
    const limiter = await createLimiter({ limits: { rpm: 1 }, store, deadline: 50 })
    const fail = async () => {
      await using hold = await limiter.reserve('a')
      expect(hold.allowed).toBe(true)
      await store.close()
      throw new Error('of the block')
    }
    await expect(fail()).rejects.toThrow(/^of the block$/)
    await limiter.close()
  })
})
