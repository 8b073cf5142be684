import { createLimiter, type RequestView } from 'sluice'
import type { RuleStats } from 'sluice/reports'
import { expect, it } from 'vitest'
import { refusedKeys } from './overview.ts'
import { RecentDenials } from './recent-denials.ts'

it('says of a key whose tier comes from its requests when it passes by its last denial, not that it passes now', async () => {
  const limiter = await createLimiter({
    policy: {
      service: 's',
      tiers: { free: { rpm: 1 }, pro: { rpm: 100 } },
      rules: [{ name: 'api', key: 'headers.x-customer', tier: { by: 'headers.x-plan', default: 'free' } }],
    },
  })
  const denials = new RecentDenials('own')
  limiter.on('decided', (decided) => denials.add(decided, Date.now()))
  const request = { method: 'GET', path: '/', headers: { 'x-customer': 'acme', 'x-plan': 'free' } } as RequestView
  for (let i = 0; i < 3; i++) await limiter.check(request)
  const hot = (customer: string) => ({ key: `s/api/${customer}`, count: 2, error: 0 })
  const rules = [{ rule: 'api', mostDenied: [hot('acme'), hot('unheard')], keysOverMs: 1000 }]

  const { keys } = await refusedKeys(rules as unknown as RuleStats[], limiter, denials, 8)

  expect(keys).toMatchObject([
    { key: 's/api/acme', limit: 'rpm' },
    { key: 's/api/unheard', limit: null, passesInMs: null },
  ])
  expect(keys[0]!.passesInMs).toBeGreaterThan(0)
  await limiter.close()
})
