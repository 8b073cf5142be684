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
    [{ envoy: { quota: true } }, /rules\[0\]\.envoy .* only rules for descriptors have it; add match\.method: RLS/],
    [
      { match: { method: 'RLS' }, envoy: { replaces: ['gone'] } },
      /replaces\[0\] is "gone"; no rule has this name; name one/,
    ],
    [{ overrides: [{ key: 2 ** 64, limits: { rpm: 2 } }] }, /not exact; write it as text/],
    [{ key: ['headers.a', 'headers.b'], overrides: [{ key: ['*', '*'], limits: { rpm: 2 } }] }, /this is every key/],
    [{ key: 'ip | subnet', overrides: [{ key: 'not-an-address', limits: { rpm: 2 } }] }, /give a value for each part/],
  ])('%j', (rule, message) => expect(mistakesIn(policyWith(rule))).toMatch(message))

  const shares = { by: 'context.class', of: { prod: '70%', dev: '30%' }, default: 'dev' }
  it.each([
    [{ shares: { ...shares, of: { prod: '70%', dev: '31%' } } }, /shares\.of .*together; use at most 100%/s],
    [{ shares: { ...shares, of: { prod: '70.5%', dev: '1%' } } }, /shares\.of\.prod .*use a whole percentage from 0%/s],
    [{ shares: { ...shares, of: { prod: 70, dev: '1%' } } }, /shares\.of\.prod .*such as 70%/s],
    [{ shares: { ...shares, of: { prod: '170%', dev: '1%' } } }, /use a whole percentage from 0% to 100%/],
    [{ shares: { ...shares, default: 'prd' } }, /shares\.default .*did you mean "prod"\? known are prod, dev/s],
    [{ shares: { ...shares, default: undefined } }, /shares\.default/],
    [{ shares: { ...shares, by: 'contxt.class' } }, /shares\.by/],
    [{ shares: { ...shares, by: 'key[0]' } }, /each key has limits of its own: read the class from the request/],
    [
      { shares: { ...shares, of: Object.fromEntries([...'abcdefghijklmnopq'].map((of) => [of, '1%'])), default: 'a' } },
      /use at most 16 classes/,
    ],
    [{ shares, algorithm: 'gcra' }, /rules\[0\]\.limits .*fixed-window or calendar limit, not gcra; change it/s],
    [{ shares, algorithm: 'sliding-window' }, /not sliding-window/],
    [{ shares, algorithm: 'sliding-log' }, /not sliding-log/],
    [{ shares, limits: { amount: 5, algorithm: 'concurrency' } }, /not concurrency/],
    [{ shares, limits: { rpm: 1, rpd: 2 } }, /shares are of exactly one limit, without pace/],
    [{ shares, limits: { amount: 9, per: 'day', pace: {} } }, /shares are of exactly one limit, without pace/],
    [
      { shares, overrides: [{ key: '192.0.2.1', limits: { rps: 1, rpm: 2 } }] },
      /overrides\[0\]\.limits .*exactly one limit/s,
    ],
    [{ shares, tiers: { gold: { rps: 1, rpm: 2 } }, tier: 'context.plan' }, /tiers\.gold .*exactly one limit/s],
    [{ shares, lease: true }, /rules\[0\]\.shares .*leave lease or shares out/s],
    [
      { shares, limits: { amount: 9, per: 'day' }, onStoreFailure: 'recount' },
      /rules\[0\]\.shares .*leave shares or recount out/s,
    ],
    [{ shares, key: undefined }, /rules\[0\]\.shares .*add a key/s],
    [{ share: shares }, /did you mean "?shares/],
  ])('%j', (rule, message) => expect(mistakesIn(policyWith(rule))).toMatch(message))

  it('refuses a block where nothing is counted', () => {
    expect(mistakesIn(policyWith({ limits: 'unlimited', block: { for: '1m' } }))).toContain(
      'nothing is counted with limits: unlimited',
    )
  })

  it('accepts shares of one window or calendar limit, of less than the whole, and unlimited subjects', () => {
    expect(mistakesIn(policyWith({ shares }))).toBe('')
    expect(mistakesIn(policyWith({ shares, limits: { amount: 9, per: 'month' } }))).toBe('')
    expect(mistakesIn(policyWith({ shares: { ...shares, of: { dev: '0%' } } }))).toBe('')
    expect(mistakesIn(policyWith({ shares, overrides: [{ key: '192.0.2.1', limits: 'unlimited' }] }))).toBe('')
  })

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
