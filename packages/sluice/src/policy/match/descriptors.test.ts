import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'

const rule = (name: string, more: object = {}) => ({ name, key: 'body.tenant', limits: { rpm: 1 }, ...more })
const policy = compilePolicy({
  service: 's',
  rules: [
    rule('any-request'),
    rule('of-acme', { match: { method: 'RLS', body: { tenant: 'acme' } } }),
    rule('needs-path', { match: { method: 'RLS' }, key: 'body.path' }),
    rule('any-tenant', { match: { method: ['GET', 'rls'] } }),
    rule('last', { match: { method: ['GET', 'RLS'] } }),
  ],
})
const viewOf = (method: string, tenant: string) => ({ method, path: '/', headers: {}, body: { tenant } })
const charged = (method: string, tenant: string, only?: string) =>
  policy.match(viewOf(method, tenant), 0, only).rules.map((matched) => matched.rule.name)

describe('rules for descriptors', () => {
  it('are tried in their order, and the first that matches decides', () => {
    expect(charged('RLS', 'acme')).toEqual(['any-request', 'of-acme'])
    expect(policy.rules.filter(({ forDescriptors }) => forDescriptors).map(({ name }) => name)).toEqual([
      'of-acme',
      'needs-path',
      'any-tenant',
      'last',
    ])
  })

  it('fall through to the next where the key is missing', () => {
    expect(charged('RLS', 'other')).toEqual(['any-request', 'any-tenant'])
  })

  it('are all charged for requests of another method', () => {
    expect(charged('GET', 'acme')).toEqual(['any-request', 'any-tenant', 'last'])
  })

  it('decide alone when they are named', () => {
    expect(charged('RLS', 'acme', 'last')).toEqual(['last'])
  })

  it('are explained as they decide', () => {
    const traces = policy.explain(viewOf('RLS', 'acme'), 0)
    expect(traces.map(({ matched }) => matched)).toEqual([true, true, false, false, false])
    expect(traces[3]!.why).toBe('the rule of-acme comes first and decides on the descriptor')
  })
})
