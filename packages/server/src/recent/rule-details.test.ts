import { createLimiter } from 'sluice'
import { expect, it } from 'vitest'
import { fullnessOf } from './rule-details.ts'

it('tells subjects whose tier only requests know from a rule that nobody uses', async () => {
  const limiter = await createLimiter({
    policy: {
      service: 's',
      tiers: { free: { rpm: 4 } },
      rules: [
        {
          name: 'api',
          key: 'headers.x-customer',
          tier: { by: 'headers.x-plan', default: 'free' },
          overrides: [{ key: 'known', limits: { rpm: 2 } }],
        },
      ],
    },
  })
  await limiter.take('known')
  const hot = (customer: string) => ({ key: `s/api/${customer}`, count: 1, error: 0 })
  expect(await fullnessOf(limiter, [])).toMatchObject({ looked: 0, seen: 0 })
  expect(await fullnessOf(limiter, [hot('acme'), hot('acme')])).toMatchObject({ looked: 0, seen: 1 })
  expect(await fullnessOf(limiter, [hot('acme'), hot('known')])).toMatchObject({ looked: 1, seen: 2 })
  await limiter.close()
})

it('counts a key that is blocked, or that may use nothing, as full', async () => {
  const limits = { amount: 0, per: '1m' } as const
  const limiter = await createLimiter({
    policy: { service: 's', rules: [{ name: 'api', limits: { rpm: 4 }, overrides: [{ key: 'nothing', limits }] }] },
  })
  await limiter.block('blocked', { for: '1m' })
  const keys = ['blocked', 'nothing'].map((key) => ({ key: `s/api/${key}`, count: 1, error: 0 }))
  expect((await fullnessOf(limiter, keys)).bins.at(-1)).toBe(2)
  await limiter.close()
})
