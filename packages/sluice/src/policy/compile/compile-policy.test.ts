import { describe, expect, it } from 'vitest'
import { PolicyError } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compilePolicy } from './compile-policy.ts'

const rule = { name: 'r', limits: { rpm: 1 } }
const view = (parts: Partial<RequestView>): RequestView => ({ method: 'GET', path: '/', headers: {}, ...parts })

function issuesOf(document: unknown): readonly string[] {
  try {
    compilePolicy(document)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(PolicyError)
    return (error as PolicyError).issues.map(({ path, message }) => `${path}: ${message}`)
  }
}

describe('a policy', () => {
  it('of the design page does what it says', () => {
    const policy = compilePolicy(`
service: sentiment-service
tiers: { free: { rpm: 100 }, standard: { rpm: 1000 }, enterprise: { rpm: 10000 } }
rules:
  - name: tenant-language
    match: { method: POST, path: /v1/analyze }
    key: [body.tenant_id, body.language]
    limits: { rps: 20, rpm: 1000, rph: 50000, rpd: 100000 }
    overrides:
      - key: [client-corp, en]
        limits: { rpm: 500, rph: 20000, rpd: 250000 }
    onStoreFailure: open
`)
    const request = view({ method: 'POST', path: '/v1/analyze', body: { tenant_id: 'client-corp', language: 'en' } })
    const { rules, refusedBy } = policy.match(request, 0)
    expect(refusedBy).toBeUndefined()
    expect(rules).toHaveLength(1)
    expect(rules[0]).toMatchObject({
      subject: 'client-corp/en',
      cost: 1,
      tier: undefined,
      rule: { prefix: 'sentiment-service/tenant-language/' },
    })
    expect(rules[0]?.limits.limits.map(({ amount }) => amount)).toEqual([500, 20_000, 250_000])
    expect(policy.readsBody).toBe(true)
  })

  it('has defaults: open, enforced, not leased', () => {
    expect(compilePolicy({ service: 's', rules: [rule] }).rule('r')).toMatchObject({
      onStoreFailure: 'open',
      mode: 'enforce',
      lease: false,
    })
  })

  it('matches several rules at once, each with its own key', () => {
    const rules = [
      { ...rule, name: 'a', key: 'ip' },
      { ...rule, name: 'b', key: 'headers.x', mode: 'shadow' },
      { ...rule, name: 'c', key: 'const:all', match: { path: '/other' } },
    ]
    const matched = compilePolicy({ service: 's', rules }).match(view({ ip: '1.1.1.1', headers: { x: '1' } }), 0)
    expect(matched.rules.map(({ rule, subject }) => [rule.name, subject, rule.mode])).toEqual([
      ['a', '1.1.1.1', 'enforce'],
      ['b', '1', 'shadow'],
    ])
  })

  it('has the version it says, or one made of all it says', () => {
    const version = (more: object) => compilePolicy({ service: 's', rules: [rule], ...more }).version
    expect(version({ version: 7 })).toBe('7')
    expect(version({ version: 'v7' })).toBe('v7')
    expect(version({})).toBe(version({}))
    expect(version({})).not.toBe(version({ tiers: { free: { rpm: 1 } } }))
    expect(version({ rules: [{ ...rule, key: () => 'a' }] })).not.toBe(
      version({ rules: [{ ...rule, key: () => 'b' }] }),
    )
  })

  it('tells which fields of a request it looks at, for its match, key, tier and cost', () => {
    const { rules } = compilePolicy({
      service: 's',
      rules: [
        {
          name: 'r',
          match: { headers: { 'X-Plan': 'pro' } },
          key: ['ip', 'body.tenant.id'],
          tier: { by: 'query.tier', default: 'free' },
          cost: 'body.tokens ?? 1',
        },
      ],
    })
    expect(rules[0]!.reads.map(({ root, path }) => [root, ...path].join('.'))).toEqual([
      'ip',
      'body.tenant.id',
      'headers.x-plan',
      'body.tokens',
      'query.tier',
    ])
  })

  it('knows whether it reads the body', () => {
    const reads = (more: object) => compilePolicy({ service: 's', rules: [{ ...rule, key: 'ip', ...more }] }).readsBody
    expect(reads({})).toBe(false)
    expect(reads({ match: { body: { a: 1 } } })).toBe(true)
    expect(reads({ cost: 'body.n' })).toBe(true)
    expect(reads({ tier: 'body.plan ?? free' })).toBe(true)
    expect(reads({ key: { first: ['ip', 'body.x'] } })).toBe(true)
  })

  it('does not take a wrong name for that of another rule', () => {
    const rules = ['no name', 'rule-0', 'rule-1'].map((name) => ({ name, limits: { rpm: 1 } }))
    expect(issuesOf({ service: 's', rules })).toEqual([expect.stringMatching(/^rules\[0\]\.name: /)])
  })

  it('leases only where a leased unit is counted exactly, and says why', () => {
    expect(issuesOf({ service: 's', rules: [{ ...rule, lease: true }] })).toEqual([])
    const gcra = { ...rule, lease: true, algorithm: 'gcra' }
    expect(issuesOf({ service: 's', rules: [gcra] })[0]).toContain('spent in the same window counted exactly')
    const override = { key: 'a', limits: { rpm: 1, algorithm: 'sliding-log' } }
    expect(issuesOf({ service: 's', rules: [{ ...rule, lease: true, overrides: [override] }] })[0]).toContain(
      'overrides[0].limits',
    )
  })

  it('lists every mistake at once, of shape and of meaning', () => {
    expect(
      issuesOf({
        service: '',
        tires: {},
        rules: [
          { name: 'a b', limits: { rps: -1 }, key: 'bdy.x', mode: 'on' },
          { name: 'b', limits: { amount: 1, per: '0.5ms' }, key: ['body.a', 'en'], burst: 4 },
          { name: 'b', limits: { rpm: 1 }, match: { path: 'x' }, key: 'ip', tier: { map: { a: 'gold' } } },
        ],
      }).map((line) => line.slice(0, line.indexOf(':'))),
    ).toEqual([
      'service',
      'rules[0].name',
      'rules[0].limits.rps',
      'rules[0].mode',
      'tires',
      'rules[0].key',
      'rules[1].key[1]',
      'rules[1].limits.per',
      'rules[2].match.path',
      'rules[2].tier.map.a',
      'rules[1].name',
      'rules[2].name',
    ])
  })

  it('names the path, the value and what would be right', () => {
    const error = (() => {
      try {
        return compilePolicy({ service: 's', rules: [{ ...rule, algoritm: 'gcra' }] })
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toMatchObject({ code: 'SLUICE_INVALID_POLICY', name: 'PolicyError', transient: false })
    expect((error as PolicyError).issues[0]).toMatchObject({ path: 'rules[0].algoritm', value: 'gcra' })
    expect((error as Error).message).toContain('rules[0].algoritm is "gcra"; unknown here; did you mean "algorithm"?')
  })

  it('says how a rule has a limit of concurrency beside others', () => {
    expect(issuesOf({ service: 's', rules: [{ name: 'r', limits: { rpm: 9, concurrency: 3 } }] })).toEqual([
      expect.stringContaining('limits: [{ rpm: 100 }, { algorithm: concurrency, amount: 3 }]'),
    ])
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['a list', []],
    ['no rules', { service: 's', rules: [] }],
    ['rules that are null', { service: 's', rules: null }],
    ['rules as an object', { service: 's', rules: { a: rule } }],
    ['merge keys', 'service: s\nrules: [{ <<: { name: a }, limits: { rpm: 1 } }]'],
    [
      'a merge key with __proto__',
      'service: s\nrules: [{ name: a, <<: { __proto__: { mode: shadow } }, limits: { rpm: 1 } }]',
    ],
    ['__proto__', JSON.parse('{"service":"s","__proto__":{"x":1},"rules":[{"name":"r","limits":{"rpm":1}}]}')],
    [
      'a tier called __proto__',
      JSON.parse('{"service":"s","tiers":{"__proto__":{"rpm":1}},"rules":[{"name":"r","limits":{"rpm":1}}]}'),
    ],
    [
      'a getter that throws',
      {
        service: 's',
        get rules(): never {
          throw new Error('no')
        },
      },
    ],
    ['a burst without gcra', { service: 's', rules: [{ ...rule, burst: 5 }] }],
    ['unused tiers that make no sense', { service: 's', tiers: { a: { amount: 1 } }, rules: [rule] }],
  ])('is refused when it is %s', (_, document) => expect(issuesOf(document)).not.toEqual([]))

  it('may have several upstreams without an address, each with its own name', () => {
    const upstreams = (...names: string[]) => ({
      service: 's',
      upstreams: names.map((name) => ({ name, limits: { rps: 1 } })),
    })
    expect(issuesOf(upstreams('mail', 'warehouse'))).toEqual([])
    expect(issuesOf(upstreams('mail', 'mail'))).toEqual([
      'upstreams[1].name: another upstream has this name; give it its own',
    ])
  })

  it('is refused when it contains itself', () => {
    const rules: unknown[] = []
    rules.push({ ...rule, overrides: rules })
    expect(issuesOf({ service: 's', rules })).toEqual(['rules[0].overrides: it contains itself'])
  })
})
