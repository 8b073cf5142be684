import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { compilePolicy } from '../compile/compile-policy.ts'
import type { LookupFunction, LookupResult } from './lookup.ts'
import { type LookupOptions, LookupSet } from './lookup-options.ts'

const policy = {
  service: 's',
  tiers: { free: { rpm: 2 }, pro: { rpm: 50 }, partner: 'unlimited' as const },
  rules: [{ name: 'r', key: 'context.tenant', tier: { by: 'context.tenant', lookup: 'plans', default: 'free' } }],
}

async function limiterOf(plans: LookupFunction | LookupOptions) {
  const clock = virtualClock()
  const limiter = await createLimiter({ policy, lookups: { plans }, store: memoryStore({ clock }), clock })
  const amountOf = async (key: string) => (await limiter.peek(key)).limits[0]?.amount
  return { clock, limiter, amountOf }
}

it('waits for a key that is not known yet, and never again', async () => {
  let asked = 0
  const { limiter, amountOf } = await limiterOf(async (key) => {
    asked += 1
    return key === 'acme' ? 'pro' : { rpm: 7 }
  })
  expect([await amountOf('acme'), await amountOf('other'), await amountOf('acme')]).toEqual([50, 7, 50])
  const decisions = await Promise.all(Array.from({ length: 9 }, () => limiter.take('third')))
  expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(7).fill(true), false, false])
  expect(asked).toBe(3)
  const request = { method: 'GET', path: '/', headers: {}, context: { tenant: 'fourth' } }
  expect((await limiter.check(request)).limits[0]).toMatchObject({ amount: 7, remaining: 6 })
  expect((await limiter.explain(request)).rules[0]).toMatchObject({ tier: '{"rpm":7}' })
  expect((await limiter.reserve('fifth')).decision.limits[0]).toMatchObject({ amount: 7 })
  expect((await limiter.wait('sixth')).limits[0]).toMatchObject({ amount: 7 })
})

it('decides without counting where the tier is unlimited', async () => {
  const { limiter } = await limiterOf(() => 'partner')
  expect(await limiter.take('acme')).toMatchObject({ allowed: true, by: 'policy' })
})

it('goes on with the last tier while it asks again in the background', async () => {
  let plan: LookupResult = 'pro'
  let ask: (() => void) | undefined
  const { clock, amountOf } = await limiterOf({
    refresh: '1m',
    get: () =>
      ask
        ? new Promise((answer) => {
            ask = () => answer(plan)
          })
        : plan,
  })
  expect(await amountOf('acme')).toBe(50)
  ask = () => {}
  plan = { rpm: 90 }
  await clock.advance('61s')
  expect([await amountOf('acme'), await amountOf('acme')]).toEqual([50, 50])
  ask()
  await clock.advance(1)
  expect(await amountOf('acme')).toBe(90)
})

it('keeps the last tier while the source fails', async () => {
  let fails = false
  const { clock, amountOf } = await limiterOf(async () => {
    if (fails) throw new Error('away')
    return 'pro'
  })
  expect(await amountOf('acme')).toBe(50)
  fails = true
  for (let i = 0; i < 5; i++) {
    await clock.advance('61s')
    expect(await amountOf('acme')).toBe(50)
  }
})

it.each([
  ['fails', () => Promise.reject(new Error('away'))],
  [
    'throws',
    () => {
      throw new Error('away')
    },
  ],
  ['says nothing', () => undefined],
  ['names no tier', () => 'gold'],
  ['says limits that are none', () => ({ rpm: 'many' }) as never],
  ['says limits that make no sense', () => ({ amount: 5, per: '5 parsecs' })],
])('has the default where the lookup %s, and asks again after 5 s', async (_, answer) => {
  let asked = 0
  const { clock, limiter, amountOf } = await limiterOf(() => {
    asked += 1
    return (answer as () => LookupResult)()
  })
  expect([await amountOf('acme'), await amountOf('acme')]).toEqual([2, 2])
  expect(asked).toBe(1)
  await clock.advance('61s')
  await amountOf('acme')
  expect(asked).toBe(2)
  await limiter.close()
})

it.each(['[', '{', '{"rpm"', '"x', '["unlimited"'])(
  'has the default where the lookup says the text %s',
  async (text) => {
    const { limiter, amountOf } = await limiterOf(() => text)
    expect(await amountOf('acme')).toBe(2)
    expect((await limiter.take('acme')).allowed).toBe(true)
    await limiter.close()
  },
)

it('waits no longer than the deadline of the limiter', async () => {
  const { clock, amountOf } = await limiterOf(() => new Promise(() => {}))
  const amount = amountOf('acme')
  await clock.advance(500)
  expect(await amount).toBe(2)
})

it('decides what waits for a tier before it closes', async () => {
  const clock = virtualClock()
  const limiter = await createLimiter({ policy, lookups: { plans: () => new Promise(() => {}) }, clock })
  const request = { method: 'GET', path: '/', headers: {}, context: { tenant: 'acme' } }
  const pending = [limiter.take('acme'), limiter.check(request), limiter.take('acme'), limiter.peek('acme')]
  const closed = limiter.close()
  await clock.advance(500)
  expect((await Promise.all(pending)).map(({ allowed, by }) => `${allowed} ${by}`)).toEqual([
    'true store',
    'true store',
    'false store',
    'false store',
  ])
  await closed
  await expect(limiter.take('acme')).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
})

it('takes what a policy has for limits, fixed ones too, where no tier is called so', async () => {
  const { limiter, amountOf } = await limiterOf((key) => (key === 'bad' ? 'denied' : key))
  expect(await limiter.take('unlimited')).toMatchObject({ allowed: true, by: 'policy' })
  expect(await limiter.take('deny')).toMatchObject({ allowed: false, reason: 'forbidden' })
  expect(await amountOf('bad')).toBe(2)
  await limiter.close()
})

it('has the default for a tier that a caller names and that is none, whatever it looks like', async () => {
  const { limiter } = await limiterOf(() => undefined)
  for (const tier of ['{"rpm":50}', '{', '[1]', '"unlimited"', 'prp'])
    expect((await limiter.peek('acme', { tier })).limits[0]).toMatchObject({ amount: 2 })
  await limiter.close()
})

it('asks for at most ten thousand keys in five seconds that are not known, and for the others later', async () => {
  const clock = virtualClock()
  let asked = 0
  const get = (key: string) => {
    asked += 1
    return key === 'acme' ? 'pro' : undefined
  }
  const plans = new LookupSet({ plans: get }, clock).find('plans')!
  const ask = async (key: string) => {
    plans.tierOf(key)
    await clock.advance(0)
    return plans.tierOf(key)
  }
  for (let i = 0; i < 12_000; i++) await ask(`invented-${i}`)
  expect(asked).toBe(10_000)
  expect(await ask('acme')).toBeUndefined()
  await clock.advance('5s')
  expect(await ask('acme')).toBe('pro')
  expect(asked).toBe(10_001)
})

it('refuses a policy that names a lookup which is not there, and a daemon without any accepts it', async () => {
  await expect(createLimiter({ policy })).rejects.toThrow('known are none; give createLimiter({ lookups: { plans } })')
  const compiled = compilePolicy(policy)
  expect(compiled.rules[0]!.isTierUnknown('acme', 0)).toBe(true)
  await expect(createLimiter({ policy, lookups: { plans: 5 as never } })).rejects.toThrow('lookups.plans')
})

it('asks at most so many at a time for a million invented keys, and keeps the keys that are known', async () => {
  const clock = virtualClock()
  let [asked, inside, most] = [0, 0, 0]
  const answers: (() => void)[] = []
  const lookups = new LookupSet(
    {
      plans: (key) => {
        asked += 1
        if (key.startsWith('known')) return 'pro'
        inside += 1
        most = Math.max(most, inside)
        return new Promise((resolve) => {
          answers.push(() => {
            inside -= 1
            resolve(undefined)
          })
        })
      },
    },
    clock,
  )
  const plans = lookups.find('plans')!
  for (let i = 0; i < 5; i++) plans.tierOf(`known-${i}`)
  await lookups.takePending()
  expect(plans.tierOf('known-3')).toBe('pro')
  const before = asked
  for (let i = 0; i < 1_000_000; i++) plans.tierOf(`invented-${i}`)
  while (inside > 0) {
    for (const answer of answers.splice(0)) answer()
    await clock.advance(0)
  }
  expect(most).toBe(8)
  expect(asked - before).toBe(8 + 64)
  expect([0, 1, 2, 3, 4].map((i) => plans.tierOf(`known-${i}`))).toEqual(Array(5).fill('pro'))
})

it('answers as a model does, for any order of keys, answers and time, with several limiters on one table', async () => {
  const step = fc.record({
    kind: fc.constantFrom('ask', 'ask', 'ask', 'change', 'pass'),
    limiter: fc.nat(1),
    key: fc.constantFrom('a', 'b', 'c'),
    plan: fc.constantFrom('pro', 'free', undefined, 'error'),
    ms: fc.constantFrom(100, 4900, 5100, 30_000, 61_000),
  })
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    const clock = virtualClock()
    const table = new Map<string, string | undefined>()
    const get = async (key: string): Promise<string | undefined> => {
      if (table.get(key) === 'error') throw new Error('away')
      return table.get(key)
    }
    const sets = [0, 1].map(() => new LookupSet({ plans: get }, clock))
    /** By limiter and key: what is known, and from when on it is asked for again. */
    const model = new Map<string, { plan: string | undefined; againMs: number }>()
    for (const { kind, limiter, key, plan, ms } of steps) {
      if (kind === 'change') table.set(key, plan)
      if (kind === 'pass') await clock.advance(ms)
      if (kind !== 'ask') continue
      const set = sets[limiter]!
      const nowMs = clock.monotonic()
      const id = `${limiter} ${key}`
      const known = model.get(id)
      const isStale = known === undefined || nowMs >= known.againMs
      // What was known answers once more, and is asked for in the background.
      const expected = known?.plan
      expect(set.find('plans')!.tierOf(key)).toBe(expected)
      await set.takePending()
      await clock.advance(0)
      const said = table.get(key)
      if (isStale && said === 'error') model.set(id, { plan: expected, againMs: nowMs + 5000 })
      else if (isStale) model.set(id, { plan: said, againMs: nowMs + (said === undefined ? 5000 : 60_000) })
    }
  })
  await fc.assert(property, { numRuns: 200 })
})

it('asks again for each of the keys that were found together', async () => {
  const asked: string[] = []
  const { clock, amountOf } = await limiterOf({
    refresh: '1m',
    get(key) {
      asked.push(key)
      return 'pro'
    },
  })
  const keys = ['a', 'b', 'c']
  const ask = async () => {
    for (const key of keys) expect(await amountOf(key)).toBe(50)
  }
  await ask()
  await clock.advance('59s')
  await ask()
  expect(asked).toEqual(keys)
  await clock.advance('2s')
  await ask()
  expect(asked).toEqual([...keys, ...keys])
  await ask()
  expect(asked).toHaveLength(6)
})
