import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'
import type { OverrideSpec } from '../document/document.ts'
import type { RequestView } from '../request-view.ts'

const view = (body: unknown): RequestView => ({ method: 'GET', path: '/', headers: {}, body })

function policyOf(overrides: readonly OverrideSpec[], more: object = {}) {
  return compilePolicy({
    service: 's',
    rules: [{ name: 'r', key: ['body.a', 'body.b'], limits: { rpm: 1000, rps: 5 }, overrides, ...more }],
  })
}

function limitsOf(overrides: readonly OverrideSpec[], body: unknown, nowMs = 0) {
  return policyOf(overrides)
    .match(view(body), nowMs)
    .rules[0]?.limits.limits.map(({ name, amount }) => [name, amount])
}

describe('an override', () => {
  it('replaces the limits of exactly one key', () => {
    const overrides = [{ key: ['client-corp', 'en'], limits: { rpm: 500 } }]
    expect(limitsOf(overrides, { a: 'client-corp', b: 'en' })).toEqual([['rpm', 500]])
    expect(limitsOf(overrides, { a: 'client-corp', b: 'fr' })).toEqual([
      ['rps', 5],
      ['rpm', 1000],
    ])
    expect(limitsOf(overrides, { a: 'client-corp/en', b: 'en' })).toHaveLength(2)
  })

  it('means the text when it says a number, because requests carry text', () => {
    expect(limitsOf([{ key: [42, true], limits: { rpm: 5 } }], { a: '42', b: 'true' })).toEqual([['rpm', 5]])
  })

  it('ends when it says so', () => {
    for (const until of [
      '2027-01-31',
      '2027-01-31T00:00:00Z',
      '2027-01-31T02:00:00+02:00',
      Date.UTC(2027, 0, 31),
      new Date('2027-01-31'),
    ]) {
      const overrides = [{ key: ['a', 'b'], limits: { rpm: 5 }, until }]
      expect(limitsOf(overrides, { a: 'a', b: 'b' }, Date.UTC(2027, 0, 31) - 1)).toHaveLength(1)
      expect(limitsOf(overrides, { a: 'a', b: 'b' }, Date.UTC(2027, 0, 31))).toHaveLength(2)
    }
  })

  it('comes before the tier', () => {
    const more = { limits: undefined, tier: { map: { a: 'enterprise' }, default: 'free' } }
    const policy = policyOf([{ key: ['a', 'b'], limits: { rpm: 5 } }], more)
    expect(policy.match(view({ a: 'a', b: 'b' }), 0).rules[0]).toMatchObject({
      tier: 'enterprise',
      limits: { limits: [{ amount: 5 }] },
    })
  })

  it('of a rule with several keys begins with the place of the key', () => {
    const more = { key: { first: ['headers.x', ['body.a', 'body.b']] } }
    const policy = policyOf([{ key: [1, 'a', 'b'], limits: { rpm: 5 } }], more)
    expect(policy.match(view({ a: 'a', b: 'b' }), 0).rules[0]?.limits.limits[0]?.amount).toBe(5)
    expect(() => policyOf([{ key: ['a', 'b'], limits: { rpm: 5 } }], more)).toThrow(
      'begin with the place of the alternative (0 to 1)',
    )
  })

  it('shares its limits with all that say the same', () => {
    const policy = policyOf(Array.from({ length: 100 }, (_, i) => ({ key: [`${i}`, 'b'], limits: { rpm: i % 2 } })))
    const sets = new Set(
      Array.from({ length: 100 }, (_, i) => policy.match(view({ a: `${i}`, b: 'b' }), 0).rules[0]?.limits),
    )
    expect(sets.size).toBe(2)
  })

  it.each([
    [
      { key: 'a', limits: { rpm: 1 } },
      'rules[0].overrides[0].key is "a"; give a value for each part of the key: body.a, body.b',
    ],
    [{ key: ['a', ''], limits: { rpm: 1 } }, 'give a value for each part'],
    [{ key: ['a', 'b'], limits: {} }, 'rules[0].overrides[0].limits is an object; give rps'],
    [
      { key: ['a', 'b'], limits: { rpm: 1 }, until: '31/1/2027' },
      'rules[0].overrides[0].until is "31/1/2027"; use a date',
    ],
    [{ key: ['a', 'b'], limits: { rpm: 1 }, until: '2027-01-31T00:00:00' }, 'a time with a zone'],
    [{ key: ['a', 'b'], limits: { rpm: 1 }, until: '2027-13-31' }, 'use a date'],
    [{ key: ['a', 'b'], limits: { rpm: 1 }, until: 1_800_000_000 }, 'milliseconds since 1970'],
  ])('is refused when it is %j', (override, message) => expect(() => policyOf([override])).toThrow(message))

  it('for a key that has one already is refused', () => {
    const override = { key: ['a', 'b'], limits: { rpm: 1 } }
    expect(() => policyOf([override, override])).toThrow(
      'rules[0].overrides[1].key is an array of 2; this key has an override already',
    )
  })
})
