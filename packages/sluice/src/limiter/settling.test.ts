import { afterEach, beforeEach, describe, expect, it } from 'vitest'
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
