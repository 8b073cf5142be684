import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { createLimiter } from './create-limiter.ts'

const request = (plan: string) => ({
  method: 'GET',
  path: '/',
  headers: { 'x-tenant': 'b' },
  context: { user: { plan } },
})

it('shows no numbers of a tier that only requests know, unless it is given', async () => {
  const limiter = await createLimiter({
    policy: {
      service: 'shop',
      tiers: { free: { rpm: 6 }, pro: { rpm: 10 } },
      rules: [
        {
          name: 'per-tenant',
          key: 'headers.x-tenant',
          tier: { by: 'context.user.plan', default: 'free' },
          overrides: [{ key: 'known', limits: { rpm: 3 } }],
        },
      ],
    },
  })
  for (let i = 0; i < 9; i++) expect((await limiter.check(request('pro'))).allowed).toBe(true)
  expect(await limiter.inspect('b')).toMatchObject({ tierUnknown: true, limits: [] })
  expect(await limiter.inspect('b', { tier: 'pro' })).toMatchObject({
    tierUnknown: false,
    limits: [{ amount: 10, remaining: 1 }],
  })
  expect(await limiter.inspect('known')).toMatchObject({ tierUnknown: false, limits: [{ amount: 3 }] })
  await expect(limiter.inspect('b', { tier: 'prp' })).rejects.toThrow('did you mean "pro"? known are free, ')
  const { decision, rules } = await limiter.explain(request('pro'))
  expect(decision.allowed).toBe(true)
  expect(rules[0]).toMatchObject({ tier: 'pro', limits: [{ amount: 10, remaining: 1 }] })
  await limiter.close()
})

it('shows no numbers where only callers name a tier', async () => {
  const limiter = await createLimiter({
    policy: {
      service: 'shop',
      tiers: { free: { rpm: 100 }, pro: { rpm: 1 } },
      rules: [{ name: 'per-user', tier: { default: 'free' } }],
    },
  })
  await limiter.take('ann', { tier: 'pro' })
  expect((await limiter.take('ann', { tier: 'pro' })).allowed).toBe(false)
  expect(await limiter.inspect('ann')).toMatchObject({ tierUnknown: true, limits: [] })
  expect(await limiter.inspect('ann', { tier: 'pro' })).toMatchObject({ limits: [{ amount: 1, remaining: 0 }] })
  await limiter.close()
})

it('says when the store did not answer, so that a share is not taken for the fact', async () => {
  const store = switchedStore(memoryStore())
  const limiter = await createLimiter({
    policy: { service: 'shop', rules: [{ name: 'r', limits: { rpm: 10 }, onStoreFailure: 'local' }] },
    store,
    replicas: 2,
  })
  await limiter.take('k')
  expect(await limiter.inspect('k')).toMatchObject({ degraded: false, limits: [{ amount: 10, remaining: 9 }] })
  store.failing = 'refused'
  expect(await limiter.inspect('k')).toMatchObject({ degraded: true })
  await limiter.close()
})
