import { describe, expect, it } from 'vitest'
import { compilePolicy } from './compile-policy.ts'
import { policyWarnings } from './policy-warnings.ts'

const now = Date.UTC(2026, 10, 16)
const warningsOf = (rule: object, nowMs: number | undefined = now) =>
  policyWarnings(compilePolicy({ service: 's', rules: [{ name: 'r', key: 'ip', limits: { rpm: 1 }, ...rule }] }), nowMs)
const overrides = (...keys: unknown[]) => ({ overrides: keys.map((key) => ({ key, limits: { rpm: 2 } })) })

describe('a policy is warned about', () => {
  it('when an override has ended, for those who say what time it is', () => {
    const until = (...days: string[]) => ({
      overrides: days.map((day, i) => ({ key: `192.0.2.${i}`, limits: { rpm: 2 }, until: day })),
    })
    expect(warningsOf(until('2026-11-15', '2026-11-17'))).toEqual([
      'The override of the rule r for "192.0.2.0" has ended: take it away, or give it a later until.',
    ])
    expect(warningsOf(until('2026-11-17'))).toEqual([])
    expect(
      policyWarnings(
        compilePolicy({ service: 's', rules: [{ name: 'r', key: 'ip', limits: { rpm: 1 }, ...until('2026-11-15') }] }),
      ),
    ).toEqual([])
  })

  it('when an override by address is for something else', () => {
    expect(warningsOf(overrides('office'))[0]).toContain('for "office": requests have addresses such as 192.0.2.1')
    for (const wrong of ['10.0.0.0/8', '192.0.2.1:443', '2001:DB8::1', '[2001:db8::1]', '2001:db8::1/64'])
      expect(warningsOf(overrides(wrong)), wrong).toHaveLength(1)
    for (const right of ['192.0.2.1', '2001:db8::1', '2001:db8::/64', '2001:db8::/48'])
      expect(warningsOf(overrides(right)), right).toEqual([])
  })

  it('also where the address is a part of the key, or one of several', () => {
    expect(warningsOf({ key: ['headers.t', 'ip'], ...overrides(['office', '192.0.2.1']) })).toEqual([])
    expect(warningsOf({ key: ['headers.t', 'ip'], ...overrides(['t', 'office']) })).toHaveLength(1)
    const first = { key: { first: ['headers.t', 'ip'] } }
    expect(warningsOf({ ...first, ...overrides([0, 'office'], [1, '192.0.2.1']) })).toEqual([])
    expect(warningsOf({ ...first, ...overrides([1, 'office']) })).toHaveLength(1)
    expect(warningsOf({ key: 'headers.t', ...overrides('office') })).toEqual([])
  })

  it('once for many overrides, and names a few of them', () => {
    const [warning, ...more] = warningsOf(overrides('a', 'b', 'c', 'd', 'e'))
    expect(warning).toContain('the overrides of the rule r for "a", "b", "c" and 2 more')
    expect(more).toEqual([])
  })

  it('when a method is none that servers let through', () => {
    expect(warningsOf({ match: { method: ['FETCH', 'get'] } })).toEqual([
      'The rule r matches the method FETCH, which servers do not know: no request has it.',
    ])
    for (const method of ['GET', 'query', 'PROPFIND', 'PURGE', 'M-SEARCH'])
      expect(warningsOf({ match: { method } }), method).toEqual([])
  })

  it('when no rule can limit a request', () => {
    expect(warningsOf({ key: undefined })[0]).toContain('No rule of the policy has a key')
  })
})
