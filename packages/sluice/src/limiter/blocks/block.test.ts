import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { BlockSpec } from '../../policy/document/document.ts'
import { PolicyError } from '../../policy/document/policy-error.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createLimiter } from '../create-limiter.ts'
import type { Limiter } from '../limiter.ts'

async function limiterOf(block: BlockSpec, limits = { amount: 2, per: '1m' }) {
  const clock = virtualClock()
  const policy = { service: 's', rules: [{ name: 'r', limits, block }] }
  return { clock, limiter: await createLimiter({ policy, store: memoryStore({ clock }), clock }) }
}

const reasons = async (limiter: Limiter, times: number): Promise<string[]> => {
  const all: string[] = []
  for (let i = 0; i < times; i++) all.push((await limiter.take('k')).reason)
  return all
}

it('lets nothing pass after so many denials, and longer each time', async () => {
  const { clock, limiter } = await limiterOf({ after: 3, within: '1m', for: '15m', grow: 2, max: '40m' })
  expect(await reasons(limiter, 6)).toEqual(['allowed', 'allowed', 'quota', 'quota', 'blocked', 'blocked'])
  for (const minutes of [15, 30, 40, 40]) {
    await clock.advance(`${minutes}m`)
    expect(await reasons(limiter, 3)).toEqual(['allowed', 'allowed', 'quota'])
    await clock.advance(1)
    expect(await reasons(limiter, 2)).toEqual(['quota', 'blocked'])
    expect((await limiter.take('k')).retryAfterMs).toBe(Math.min(40, minutes * 2) * 60_000)
  }
})

it('begins anew when there was no block for as long as the longest', async () => {
  const { clock, limiter } = await limiterOf({ for: '15m', grow: 2, max: '1h' })
  await reasons(limiter, 3)
  await clock.advance('74m')
  await reasons(limiter, 3)
  expect((await limiter.take('k')).retryAfterMs).toBe(30 * 60_000)
  await clock.advance('90m')
  await reasons(limiter, 3)
  expect((await limiter.take('k')).retryAfterMs).toBe(15 * 60_000)
})

it('counts requests that are charged by their outcome, and not those that are under way or succeed', async () => {
  const { clock, limiter } = await limiterOf(
    { after: 3, within: '1m', for: '15m', count: 'charges' },
    { amount: 50, per: '1m' },
  )
  const attempt = async (failed: boolean) => {
    const hold = await limiter.reserve('k')
    if (hold.allowed) await hold.settle(failed ? 1 : 0)
    return hold.decision.reason
  }
  const underWay = await Promise.all([limiter.reserve('k'), limiter.reserve('k'), limiter.reserve('k')])
  for (const hold of underWay) await hold.settle(0)
  expect([await attempt(true), await attempt(false), await attempt(true)]).toEqual(['allowed', 'allowed', 'allowed'])
  await clock.advance('61s')
  expect([await attempt(true), await attempt(true), await attempt(true), await attempt(false)]).toEqual([
    ...['allowed', 'allowed', 'allowed', 'blocked'],
  ])
  await clock.advance('15m')
  expect(await attempt(false)).toBe('allowed')
})

it('does not count what waits for its turn', async () => {
  const { clock, limiter } = await limiterOf({ after: 2, within: '1h', for: '15m' })
  const waits = [1, 2, 3, 4, 5].map(() => limiter.wait('k'))
  for (let i = 0; i < 3; i++) await clock.advance('1m')
  expect((await Promise.all(waits)).map(({ reason }) => reason)).toEqual(Array(5).fill('allowed'))
})

it('blocks and unblocks a key of any rule by hand', async () => {
  const clock = virtualClock()
  const policy = {
    service: 's',
    rules: [
      { name: 'r', limits: { rpm: 5 } },
      { name: 'free', limits: 'unlimited' },
    ],
  } as const
  const limiter = await createLimiter({ policy, store: memoryStore({ clock }), clock })
  await limiter.block('k', { for: '15m', rule: 'r' })
  expect(await limiter.take('k', { rule: 'r' })).toMatchObject({ reason: 'blocked', retryAfterMs: 900_000, rule: 'r' })
  expect((await limiter.inspect('k', { rule: 'r' })).limits.at(-1)).toMatchObject({
    name: 'block',
    block: true,
    resetMs: 900_000,
  })
  expect((await limiter.take('other', { rule: 'r' })).allowed).toBe(true)
  expect(await limiter.unblock('k', { rule: 'r' })).toBe(true)
  expect(await limiter.unblock('k', { rule: 'r' })).toBe(false)
  expect((await limiter.take('k', { rule: 'r' })).allowed).toBe(true)
  await limiter.block('k', { for: '1m', rule: 'r' })
  await clock.advance('1m')
  expect((await limiter.take('k', { rule: 'r' })).allowed).toBe(true)
  await expect(limiter.block('k', { for: '0s', rule: 'r' })).rejects.toThrow('use a time from 1ms')
  await expect(limiter.block('k', { for: '1m', rule: 'free' })).rejects.toThrow('unlimited')
})

it.each([
  [{ after: 2, for: '1m' }, 'within'],
  [{ for: 'soon' }, 'for'],
  [{ for: '2d', grow: 2, max: '1d' }, 'max'],
  [{ for: '1m', max: '1d' }, 'max'],
  [{ for: '1m', grow: 0.5 }, 'grow'],
  [{ after: 0, within: '1m', for: '1m' }, 'after'],
])('refuses %j, naming %s', async (block, field) => {
  const refused = await limiterOf(block as BlockSpec).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(PolicyError)
  expect((refused as PolicyError).message).toContain(`rules[0].block.${field}`)
})

/** The rule in plain words: a window from the first hit, strikes from the first one on, a block, its length. */
class Model {
  #spent = { fromMs: -Infinity, units: 0 }
  #strikes = { fromMs: -Infinity, count: 0 }
  #block = { untilMs: -Infinity, lengthMs: 0, forgottenMs: -Infinity }

  take(nowMs: number, cost: number): string {
    if (nowMs < this.#block.untilMs) return 'blocked'
    if (nowMs >= this.#spent.fromMs + 60_000) this.#spent = { fromMs: nowMs, units: 0 }
    if (this.#spent.units + cost <= 3) {
      this.#spent.units += cost
      return 'allowed'
    }
    if (this.#spent.units === 0) this.#spent.fromMs = -Infinity
    if (nowMs >= this.#strikes.fromMs + 90_000) this.#strikes = { fromMs: nowMs, count: 0 }
    this.#strikes.count += 1
    if (this.#strikes.count < 4) return 'quota'
    this.#strikes = { fromMs: -Infinity, count: 0 }
    const last = nowMs < this.#block.forgottenMs ? this.#block.lengthMs : undefined
    const lengthMs = last === undefined ? 120_000 : Math.min(600_000, Math.floor(last * 1.5))
    this.#block = { untilMs: nowMs + lengthMs, lengthMs, forgottenMs: nowMs + lengthMs + 600_000 }
    return 'blocked'
  }
}

it('decides as the model does, whenever requests come', async () => {
  const steps = fc.array(
    fc.record({ afterMs: fc.nat(70_000), cost: fc.integer({ min: 1, max: 4 }), hurry: fc.nat(3) }),
    {
      minLength: 20,
      maxLength: 80,
    },
  )
  const block = { after: 4, within: '90s', for: '2m', grow: 1.5, max: '10m' }
  const property = fc.asyncProperty(steps, async (all) => {
    const { clock, limiter } = await limiterOf(block, { amount: 3, per: '1m' })
    const model = new Model()
    for (const { afterMs, cost, hurry } of all) {
      clock.tick(hurry > 0 ? afterMs % 3000 : afterMs)
      const { reason } = await limiter.take('k', { cost })
      expect(reason).toBe(model.take(clock.now() / 1000, cost))
    }
    await limiter.close()
  })
  await fc.assert(property, { numRuns: 60 })
})
