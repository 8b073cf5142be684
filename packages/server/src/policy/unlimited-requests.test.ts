import { expect, test } from 'vitest'
import { limitedOnly } from './unlimited-requests.ts'

const limits = { rpm: 1 }

test.each([
  ['an address', [{ name: 'a', key: 'ip | subnet', limits }]],
  ['a key or else the address', [{ name: 'a', key: { first: ['headers.x-key', 'ip'] }, limits }]],
  ['a default', [{ name: 'a', key: ['ip', 'body.lang ?? en'], limits }]],
  ['a refusal', [{ name: 'a', key: 'headers.x-key', onMissing: 'deny', limits }]],
  ['every path', [{ name: 'a', match: { path: '/*' }, key: 'ip', limits }]],
])('every request is limited by %s', (_, rules) => {
  expect(limitedOnly({ rules })).toBeUndefined()
})

test('what no rule limits is what none of them matches, or finds its key in', () => {
  const rules = [
    { name: 'analyze', match: { method: 'POST', path: '/v1/analyze' }, key: ['headers.x-tenant', 'ip'], limits },
    { name: 'clients', key: { first: ['headers.x-key | hash', 'cookies.id'] }, limits },
    { name: 'canary', match: { headers: { 'x-canary': { exists: true } } }, key: 'ip', limits },
    { name: 'watch', key: 'ip', limits, mode: 'shadow' },
    { name: 'by-take', limits },
    { name: 'sale', key: 'ip', limits, until: '2027-01-01' },
    { name: 'free', key: 'ip', limits: 'unlimited' },
  ]
  expect(limitedOnly({ rules })).toEqual([
    'POST /v1/analyze with headers.x-tenant (analyze)',
    'any with headers.x-key | hash or cookies.id (clients)',
    'where headers.x-canary fits (canary)',
  ])
})
