import { describe, expect, it } from 'vitest'
import { encodeKey } from '../../core/key.ts'
import { compilePolicy } from '../compile/compile-policy.ts'

const original = {
  _id: 'sentiment-service',
  last_updated: new Date('2026-01-01'),
  general_rate_limit: { rps: 20, rpm: 1000, rph: 50_000, rpd: 100_000 },
  custom_rate_limits: {
    'tenant:client-corp:lang:en': { rpm: 500, rph: 20_000, rpd: 250_000 },
    'document:42': { rps: 1 },
  },
}

function limitsOf(document: unknown, key: string) {
  const limits = compilePolicy(document).rule('default')?.limitsFor(encodeKey(key), undefined, 0)
  return limits?.limits.map(({ name, amount }) => [name, amount])
}

describe('the MongoDB document of the original design', () => {
  it('is a policy with one rule for the service it is named after', () => {
    const policy = compilePolicy(original)
    expect(policy.service).toBe('sentiment-service')
    expect(policy.rules.map(({ name, prefix, mode, onStoreFailure }) => [name, prefix, mode, onStoreFailure])).toEqual([
      ['default', 'sentiment-service/default/', 'enforce', 'open'],
    ])
  })

  it('has fixed windows from the first hit', () => {
    const limits = compilePolicy(original).rule('default')!.limitsFor('x', undefined, 0).limits
    expect(limits.every(({ algorithm, aligned }) => algorithm === 'fixed-window' && !aligned)).toBe(true)
  })

  it('means an exact match in custom, else general', () => {
    expect(limitsOf(original, 'tenant:client-corp:lang:en')).toEqual([
      ['rpm', 500],
      ['rph', 20_000],
      ['rpd', 250_000],
    ])
    expect(limitsOf(original, 'tenant:client-corp:lang:en:x')).toHaveLength(4)
    expect(limitsOf(original, 'tenant:client-corp')).toHaveLength(4)
    expect(limitsOf(original, 'toString')).toHaveLength(4)
  })

  it('loads from text too, and without custom limits', () => {
    expect(limitsOf(JSON.stringify(original), 'document:42')).toEqual([['rps', 1]])
    expect(limitsOf({ _id: 's', general_rate_limit: { rpm: 5, rps: null } }, 'x')).toEqual([['rpm', 5]])
  })

  it('has another version when it says something else', () => {
    const changed = { ...original, general_rate_limit: { rps: 21 } }
    expect(compilePolicy(changed).version).not.toBe(compilePolicy(original).version)
    expect(compilePolicy({ ...original }).version).toBe(compilePolicy(original).version)
  })

  it.each([
    [{ ...original, general_rate_limit: { rps: -1, rpz: 3 } }, ['general_rate_limit.rps', 'general_rate_limit.rpz']],
    [{ ...original, general_rate_limit: {} }, ['general_rate_limit']],
    [{ ...original, custom_rate_limits: { a: {}, b: { rps: '1' } } }, ['custom_rate_limits.b.rps']],
    [{ ...original, custom_rate_limits: { a: {} } }, ['custom_rate_limits.a']],
    [{ ...original, custom_rate_limit: {} }, ['custom_rate_limit']],
    [{ ...original, _id: 7 }, ['_id']],
    [{ _id: 's', custom_rate_limits: {} }, ['general_rate_limit']],
  ])('is refused whole with every mistake: %#', (document, paths) => {
    let error: unknown
    try {
      compilePolicy(document)
    } catch (thrown) {
      error = thrown
    }
    expect((error as { issues?: { path: string }[] }).issues?.map(({ path }) => path)).toEqual(paths)
  })
})

describe('a policy in a database', () => {
  it('may carry _id, which names the service, and last_updated', () => {
    const rules = [{ name: 'r', limits: { rpm: 1 } }]
    expect(compilePolicy({ _id: 'a', last_updated: 5, rules }).service).toBe('a')
    expect(compilePolicy({ _id: 'a', __v: 0, _class: 'shop.Policy', rules }).service).toBe('a')
    expect(() => compilePolicy({ _id: 'a', _owner: 'me', rules })).toThrow('_owner')
    expect(compilePolicy({ _id: 'a', service: 'b', rules }).service).toBe('b')
    expect(compilePolicy({ _id: { oid: 1 }, service: 'b', rules }).service).toBe('b')
  })
})
