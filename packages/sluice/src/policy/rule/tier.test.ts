import { describe, expect, it } from 'vitest'
import { encodeKey } from '../../core/key.ts'
import { compilePolicy } from '../compile/compile-policy.ts'
import type { RequestView } from '../request-view.ts'

type Env = Record<string, string>

const view = (body: unknown): RequestView => ({ method: 'GET', path: '/', headers: {}, body })

function policyOf(rule: object, env: Env = {}, more: object = {}) {
  return compilePolicy({ service: 's', ...more, rules: [{ name: 'r', key: 'body.tenant', ...rule }] }, { env })
}

/** The tier and the amount of its first limit. */
function tierOf(rule: object, body: unknown, env: Env = {}, more: object = {}) {
  const matched = policyOf(rule, env, more).match(view(body), 0).rules[0]
  return [matched?.tier, matched?.limits.limits[0]?.amount]
}

describe('a tier', () => {
  it('has built-in limits that a policy or a rule can replace', () => {
    const rule = { tier: 'body.plan ?? free' }
    expect(tierOf(rule, { tenant: 'a' })).toEqual(['free', 100])
    expect(tierOf(rule, { tenant: 'a', plan: 'standard' })).toEqual(['standard', 1000])
    expect(tierOf(rule, { tenant: 'a', plan: 'enterprise' })).toEqual(['enterprise', 10_000])
    expect(tierOf(rule, { tenant: 'a', plan: 'free' }, {}, { tiers: { free: { rpm: 7 } } })).toEqual(['free', 7])
    expect(
      tierOf({ ...rule, tiers: { free: { rpm: 3 } } }, { tenant: 'a' }, {}, { tiers: { free: { rpm: 7 } } }),
    ).toEqual(['free', 3])
  })

  it('that nobody knows is the default, else the rule has limits of its own', () => {
    expect(tierOf({ tier: 'body.plan ?? free' }, { tenant: 'a', plan: '__proto__' })).toEqual(['free', 100])
    expect(tierOf({ tier: 'body.plan', limits: { rpm: 5 } }, { tenant: 'a', plan: 'none' })).toEqual([undefined, 5])
    expect(() => policyOf({ tier: 'body.plan' })).toThrow('say what holds when the tier is not known')
  })

  it('is found by a map', () => {
    const tier = { by: 'body.tenant', map: { acme: 'enterprise', __x: 'standard' }, default: 'free' }
    expect(tierOf({ tier }, { tenant: 'acme' })).toEqual(['enterprise', 10_000])
    expect(tierOf({ tier }, { tenant: 'constructor' })).toEqual(['free', 100])
  })

  it('is found in the environment: the id upper-cased, hyphens to underscores', () => {
    const env = { RATE_LIMIT_TIER: 'standard', RATE_LIMIT_TIER_ACME_CORP: 'enterprise', OTHER: 'x' }
    expect(tierOf({ tier: { env: true } }, { tenant: 'acme-corp' }, env)).toEqual(['enterprise', 10_000])
    expect(tierOf({ tier: { env: true } }, { tenant: 'other' }, env)).toEqual(['standard', 1000])
    expect(tierOf({ tier: { env: 'PLAN', default: 'free' } }, { tenant: 'a' }, { PLAN_A: 'standard' })).toEqual([
      'standard',
      1000,
    ])
  })

  it('is told by a key too, where a part of the key tells it', () => {
    const limits = (rule: object, key: string[]) =>
      policyOf({ key: ['body.language', 'body.tenant'], ...rule })
        .rule('r')
        ?.limitsFor(encodeKey(key), undefined, 0).limits[0]?.amount
    const map = { acme: 'enterprise' }
    expect(limits({ tier: { by: 'body.tenant', map, default: 'free' } }, ['en', 'acme'])).toBe(10_000)
    expect(limits({ tier: { by: 'key[1]', map, default: 'free' } }, ['en', 'acme'])).toBe(10_000)
    expect(limits({ tier: { map, default: 'free' } }, ['acme', 'en'])).toBe(10_000)
    expect(limits({ tier: { by: 'headers.x', map, default: 'free' } }, ['en', 'acme'])).toBe(100)
  })

  it('is told by the first part of the key that was found, when there are several keys', () => {
    const rule = {
      key: { first: ['headers.k', 'body.tenant'] },
      tier: { map: { acme: 'enterprise' }, default: 'free' },
    }
    expect(tierOf(rule, { tenant: 'acme' })).toEqual(['enterprise', 10_000])
  })

  it('that the caller knows is taken at its word', () => {
    const rule = policyOf({ tier: { map: {}, default: 'free' } }).rule('r')
    expect(rule?.limitsFor('x', 'enterprise', 0).limits[0]?.amount).toBe(10_000)
    expect(rule?.limitsFor('x', 'unheard-of', 0).limits[0]?.amount).toBe(100)
  })

  it('takes the algorithm of the rule', () => {
    const rule = policyOf({ algorithm: 'gcra', burst: 5, tier: { map: {}, default: 'free' } }).rule('r')
    expect(rule?.limitsFor('x', undefined, 0).limits[0]).toMatchObject({ algorithm: 'gcra', amount: 100, burst: 5 })
  })

  it.each([
    [{ tier: 'const:gold', limits: { rpm: 1 } }, 'rules[0].tier is "gold"; no tier of that name'],
    [
      { tier: { map: { a: 'fre' }, default: 'free' } },
      'rules[0].tier.map.a is "fre"; no tier of that name; did you mean "free"?',
    ],
    [{ tier: { default: 'nobody' } }, 'rules[0].tier.default is "nobody"'],
    [{ tier: { by: 'bdy.x', default: 'free' } }, 'rules[0].tier.by is "bdy.x"'],
    [{ tier: { env: true } }, 'say what holds'],
    [{ tiers: { a: { rpm: 1 } }, limits: { rpm: 1 } }, 'say with tier how'],
    [{ key: undefined, tier: { by: 'body.x', default: 'free' } }, 'a rule without a key cannot read requests'],
    [{ algorithm: 'calendar', tier: { default: 'free' } }, 'no tier of that name'],
  ])('is refused in %j', (rule, message) => expect(() => policyOf(rule)).toThrow(message))

  it('that the environment misspells is refused', () => {
    expect(() => policyOf({ tier: { env: true, default: 'free' } }, { RATE_LIMIT_TIER_A: 'fre' })).toThrow(
      'env.RATE_LIMIT_TIER_A is "fre"',
    )
  })
})
