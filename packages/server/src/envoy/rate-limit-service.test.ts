import { createLimiter, memoryStore, type PolicyDocument } from 'sluice'
import { openPolicy } from 'sluice/policy'
import { afterEach, expect, test } from 'vitest'
import { DecisionTurns } from '../decision-turns.ts'
import { OverrideLimiters } from './override-limiters.ts'
import { shouldRateLimit } from './rate-limit-service.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(() => Promise.all(opened.splice(0).map((each) => each.close())))

/** Asks a service with these rules about a tenant. */
async function serviceOf(rules: PolicyDocument['rules']) {
  const store = memoryStore()
  const policy = await openPolicy({ service: 's', rules })
  const limiter = await createLimiter({ policy, store })
  const overrides = new OverrideLimiters({ store, service: () => 's', deadlineMs: 500, watch: () => () => {} })
  const turns = new DecisionTurns()
  opened.push(limiter, policy, overrides, store)
  return async (tenant: string, domain = 'shop', limit: { requestsPerUnit: number; unit: string } | null = null) => {
    const descriptors = [{ entries: [{ key: 'tenant', value: tenant }], limit, hitsAddend: null }]
    const { statuses } = await shouldRateLimit(
      { limiter, policy, overrides, turns, shadow: false },
      { domain, descriptors, hitsAddend: 0 },
    )
    return `${statuses[0]!.code} ${statuses[0]!.currentLimit?.requestsPerUnit ?? 'without a limit'}`
  }
}

const forTenants = { match: { method: 'RLS', path: '/shop/tenant' }, key: 'body.tenant' }

test('a descriptor is charged to the first rule for it alone, not to rules for every request', async () => {
  const ask = await serviceOf([
    { name: 'all', key: 'const:all', limits: { rpm: 1 } },
    { name: 'per-ip', key: 'ip', limits: { rpm: 1 } },
    { name: 'per-tenant', ...forTenants, limits: { rpm: 2 } },
    { name: 'later', ...forTenants, limits: { rpm: 1 } },
  ])
  expect([await ask('a'), await ask('a'), await ask('a')]).toEqual(['OK 2', 'OK 2', 'OVER_LIMIT 2'])
  expect(await ask('a', 'elsewhere'), 'nor is one that no rule is for').toBe('OK without a limit')
})

test('only the two limits that the import writes stand for no limit', async () => {
  const limitOf = async (limits: object) => (await serviceOf([{ name: 'r', ...forTenants, limits }]))('a')
  expect(await limitOf({ name: 'unmatched', amount: 0, per: '1s' })).toBe('OK without a limit')
  expect(await limitOf({ name: 'unlimited', amount: 4_294_967_295, per: '1s' })).toBe('OK without a limit')
  expect(await limitOf({ name: 'unmatched', amount: 0, per: '1m' })).toBe('OVER_LIMIT 0')
  expect(await limitOf({ name: 'unlimited', amount: 5, per: '1s' })).toBe('OK 5')
})

test.each([
  ['the domain in its path', '/shop/tenant', 'OVER_LIMIT 0'],
  ['another domain', '/other/tenant', 'OK without a limit'],
  ['a domain in another spelling', '/%53hop/*', 'OVER_LIMIT 0'],
  ['any domain', '/:domain/tenant', 'OVER_LIMIT 0'],
  ['every path', undefined, 'OVER_LIMIT 0'],
])('a limit that a descriptor brings along holds or not for a rule with %s', async (_, path, expected) => {
  const match = { method: 'RLS', ...(path === undefined ? {} : { path }) }
  const ask = await serviceOf([{ name: 'r', match, key: 'body.tenant', limits: { rpm: 9 } }])
  expect(await ask('a', 'shop', { requestsPerUnit: 0, unit: 'DAY' })).toBe(expected)
})
