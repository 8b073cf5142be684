import { describe, expect, it } from 'vitest'
import { sha256 } from '../../core/sha256.ts'
import { compilePolicy } from './compile-policy.ts'

const policyWith = (rule: object) => ({ service: 's', rules: [{ name: 'r', key: 'ip', limits: { rpm: 1 }, ...rule }] })
const mistakesIn = (document: unknown): string => {
  try {
    compilePolicy(document)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('a policy that would not do what was meant is refused with the remedy', () => {
  it.each(['/v1/users/{id}', '/v1/users/(\\d+)', '/v1/[id]', '/v1/<id>', '/v1/(a|b)', '/v1/users/$'])(
    'the path %s of another router',
    (path) => {
      expect(mistakesIn(policyWith({ match: { path } }))).toMatch(/written for another router; a capture is/)
    },
  )

  it.each([
    [{ match: { path: '/users/:id' }, key: 'params.uid' }, /no path of the rule captures :uid; captured are id/],
    [{ match: { method: 'pots' } }, /did you mean "POST"/],
    [{ limits: { amount: 5, per: 60 } }, /say the unit: "60s" for seconds, "60ms" for milliseconds/],
    [{ overrides: [{ key: '1.2.3.4', limits: { rpm: 2 }, until: '2027-02-31' }] }, /no such day in the calendar/],
    [{ overrides: [{ key: 2 ** 64, limits: { rpm: 2 } }] }, /not exact; write it as text/],
    [{ key: ['headers.a', 'headers.b'], overrides: [{ key: ['x', '*'], limits: { rpm: 2 } }] }, /no wildcards/],
    [{ key: 'ip | subnet', overrides: [{ key: 'not-an-address', limits: { rpm: 2 } }] }, /give a value for each part/],
  ])('%j', (rule, message) => expect(mistakesIn(policyWith(rule))).toMatch(message))

  it('accepts params that a framework captured when the rule captures none itself', () => {
    expect(mistakesIn(policyWith({ match: { path: '/v1/*' }, key: 'params.uid' }))).toBe('')
  })

  it.each(['007', '1.10', '1e3', '12345678901234567890'])('the YAML number %s as an override key', (number) => {
    const text = `service: s\nrules:\n  - name: r\n    key: headers.t\n    limits: { rpm: 1 }\n    overrides:\n      - key: ${number}\n        limits: { rpm: 2 }\n`
    expect(mistakesIn(text)).toMatch(/line 7.*write ".*" in quotes/s)
    expect(mistakesIn(text.replace(number, `"${number}"`))).toBe('')
    expect(mistakesIn(text.replace(number, '42'))).toBe('')
  })
})

describe('an override applies to the key as it was written', () => {
  const limitsOf = (key: string, override: string, headers: Record<string, string>, ip = '10.0.0.7') => {
    const policy = compilePolicy(policyWith({ key, overrides: [{ key: override, limits: { rpm: 99 } }] }))
    return policy.match({ method: 'GET', path: '/', headers, ip }, 0).rules[0]?.limits.limits[0]?.amount
  }

  it('under | lower', () => expect(limitsOf('headers.t | lower', 'ACME', { t: 'Acme' })).toBe(99))
  it('under | hash, by the secret', () => expect(limitsOf('headers.t | hash', 'premium', { t: 'premium' })).toBe(99))
  it('under | hash, by its hash', () => {
    expect(limitsOf('headers.t | hash', sha256('premium'), { t: 'premium' })).toBe(99)
  })
  it('under | subnet, by an address in it', () => expect(limitsOf('ip | subnet', '10.0.0.1', {})).toBe(99))
})
