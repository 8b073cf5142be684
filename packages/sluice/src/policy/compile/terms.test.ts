import { describe, expect, it } from 'vitest'
import type { RequestView } from '../request-view.ts'
import { compilePolicy } from './compile-policy.ts'
import { policyWarnings } from './policy-warnings.ts'

const day = (n: number) => Date.UTC(2027, 0, n)
const view = (more: Partial<RequestView> = {}): RequestView => ({
  method: 'GET',
  path: '/',
  headers: {},
  ip: '192.0.2.1',
  ...more,
})
const policyOf = (rule: object, more: object = {}) =>
  compilePolicy({ service: 's', rules: [{ name: 'r', key: 'ip', limits: { rpm: 1 }, ...rule }], ...more })
const limitsAt = (policy: ReturnType<typeof policyOf>, nowMs: number) =>
  policy.rule('r')!.limitsFor('192.0.2.1', undefined, nowMs)

describe('a rule with a term', () => {
  const policy = policyOf({ from: '2027-01-10', until: '2027-01-20', onMissing: 'deny' })

  it('applies from its beginning to its end, to requests and to keys', () => {
    for (const [n, isIn] of [
      [9, false],
      [10, true],
      [19, true],
      [20, false],
    ] as const) {
      expect(policy.match(view(), day(n)).rules).toHaveLength(isIn ? 1 : 0)
      expect(limitsAt(policy, day(n)).fixed).toBe(isIn ? undefined : 'unlimited')
    }
    expect(policy.match(view({ ip: undefined }), day(9)).refusedBy).toBeUndefined()
    expect(policy.match(view({ ip: undefined }), day(10)).refusedBy?.name).toBe('r')
  })

  it('explains when it begins or ended, and is warned about when it has ended', () => {
    expect(policy.explain(view(), day(1))[0]).toMatchObject({ matched: false, why: 'begins 2027-01-10T00:00:00.000Z' })
    expect(policy.explain(view(), day(30))[0]?.why).toBe('ended 2027-01-20T00:00:00.000Z')
    expect(policyWarnings(policy, day(30))).toEqual(['The rule r has ended: take it away, or give it a later until.'])
  })

  it('is refused when it ends before it begins', () => {
    expect(() => policyOf({ from: '2027-01-20', until: '2027-01-10' })).toThrow(
      'rules[0].until is "2027-01-10"; it must be later than from',
    )
  })
})

it('an override begins and ends, and a shorter prefix takes over meanwhile', () => {
  const policy = policyOf({
    overrides: [
      { key: '192.0.2.1', limits: { rpm: 5 }, from: '2027-01-10', until: '2027-01-20' },
      { key: '192.0.*', limits: { rpm: 3 } },
    ],
  })
  expect([9, 10, 20].map((n) => limitsAt(policy, day(n)).limits[0]?.amount)).toEqual([3, 5, 3])
})

describe('tiers that extend another', () => {
  const limitsOf = (tiers: object, name: string) =>
    policyOf({ tier: { by: 'headers.plan', default: 'free' } }, { tiers })
      .rule('r')!
      .limitsFor('a', name, 0)
      .limits.map((limit) => `${limit.name} ${limit.amount}`)

  it('have its limits, and their own in place of those or beside them', () => {
    const tiers = {
      team: { extends: 'pro', limits: [{ amount: 9, per: '1d', name: 'exports' }] },
      pro: { extends: 'free', rpm: 1000 },
      free: { rps: 5, rpm: 100 },
      business: { extends: 'standard', rps: 50 },
    }
    expect(limitsOf(tiers, 'pro')).toEqual(['rps 5', 'rpm 1000'])
    expect(limitsOf(tiers, 'team')).toEqual(['rps 5', 'rpm 1000', 'exports 9'])
    expect(limitsOf(tiers, 'business')).toEqual(['rpm 1000', 'rps 50'])
  })

  it('are refused when they extend themselves, or what is not there', () => {
    expect(() => limitsOf({ a: { extends: 'b' }, b: { extends: 'a', rpm: 1 } }, 'a')).toThrow(
      'a tier cannot extend itself',
    )
    expect(() => limitsOf({ a: { extends: 'fre' } }, 'a')).toThrow('did you mean "free"')
    expect(() => limitsOf({ a: 'deny', b: { extends: 'a' } }, 'a')).toThrow('this tier has no limits to extend')
  })
})

it('a cost by kind is a price: what a request settles for leaves it alone', () => {
  const policy = policyOf({ cost: { by: 'body.model | lower', map: { large: 10, free: 0 }, default: 2 } })
  const costOf = (model: unknown) => policy.match(view({ body: { model } }), 0).rules[0]!.cost
  expect(['Large', 'free', 'other', undefined, {}].map(costOf)).toEqual([10, 0, 2, 2, 2])
  expect(policy.rule('r')!.estimatesCost).toBe(false)
})

it('fields that begin with x- are for others and say nothing', () => {
  const policy = { 'x-owner': 'payments', tiers: { pro: { rpm: 1, 'x-price': 9 } } }
  expect(() => policyOf({ 'x-ticket': 7, match: { headers: { 'x-canary': 'a' } } }, policy)).not.toThrow()
  expect(() => policyOf({ 'y-ticket': 7 })).toThrow('rules[0].y-ticket is 7; unknown here')
})

it('a key may come from a cookie or the host', () => {
  const subjectOf = (key: string, headers: RequestView['headers']) =>
    policyOf({ key }).match(view({ headers }), 0).rules[0]?.subject
  expect(subjectOf('cookies.sid', { cookie: 'a=1; sid="x%20y"' })).toBe('x%0020y')
  expect(subjectOf('cookies.sid', { cookie: 'a=1' })).toBeUndefined()
  // Two values contradict each other, and must not lead out of the rule.
  expect(subjectOf('cookies.sid', { cookie: 'sid=1; sid=2' })).toBe('#false')
  expect(subjectOf('host', { host: 'Shop.Example:443' })).toBe('shop.example')
})
