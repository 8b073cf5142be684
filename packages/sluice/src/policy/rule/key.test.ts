import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeKey, encodeKey, type KeyPart } from '../../core/key.ts'
import { compilePolicy } from '../compile/compile-policy.ts'
import type { KeySpec } from '../document/document.ts'
import type { RequestView } from '../request-view.ts'

const view = (parts: Partial<RequestView> = {}): RequestView => ({ method: 'GET', path: '/', headers: {}, ...parts })

function policyOf(key: KeySpec, more: object = {}) {
  return compilePolicy({ service: 's', rules: [{ name: 'r', key, limits: { rpm: 1 }, ...more }] })
}

function subject(key: KeySpec, request: Partial<RequestView>): string | undefined {
  return policyOf(key).match(view(request), 0).rules[0]?.subject
}

describe('a key', () => {
  it('is the tuple that take() would be given', () => {
    const request = { body: { tenant_id: 'client-corp', language: 'en' } }
    expect(subject(['body.tenant_id', 'body.language'], request)).toBe(encodeKey(['client-corp', 'en']))
    expect(subject('body.tenant_id', request)).toBe(encodeKey('client-corp'))
  })

  it('keeps distinct tuples apart, whatever the request says', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
      fc.constantFrom('a:b', 'a/b', '#1', '~x', '%002f', '{a}'),
    )
    const pair = fc.tuple(text, text)
    const policy = policyOf(['body.a', 'body.b'])
    const of = ([a, b]: [string, string]) => policy.match(view({ body: { a, b } }), 0).rules[0]?.subject
    fc.assert(
      fc.property(pair, pair, (p, q) => {
        expect(of(p) === of(q)).toBe(p[0] === q[0] && p[1] === q[1])
      }),
    )
  })

  it('is the first of several that the request has: API key, else tenant and language, else user, else address', () => {
    const key: KeySpec = {
      first: [
        'headers.x-api-key',
        ['body.tenant', 'body.language'],
        (request) => (request.body as { user?: string })?.user ?? null,
        'ip',
      ],
    }
    const all = { headers: { 'x-api-key': 'x' }, body: { tenant: 'x', language: 'en', user: 'x' }, ip: 'x' }
    expect(subject(key, all)).toBe(encodeKey([0, 'x']))
    expect(subject(key, { ...all, headers: {} })).toBe(encodeKey([1, 'x', 'en']))
    expect(subject(key, { ...all, headers: {}, body: { user: 'x' } })).toBe(encodeKey([2, 'x']))
    expect(subject(key, { ip: 'x' })).toBe(encodeKey([3, 'x']))
    expect(subject(key, {})).toBeUndefined()
  })

  it('can be a function, given or named', () => {
    expect(subject((request) => [request.method, 'x'], {})).toBe('GET/x')
    const options = { functions: { tenantOf: () => 'acme' } }
    const policy = compilePolicy(
      { service: 's', rules: [{ name: 'r', key: 'fn:tenantOf', limits: { rpm: 1 } }] },
      options,
    )
    expect(policy.match(view(), 0).rules[0]?.subject).toBe('acme')
    expect(() => policyOf('fn:other')).toThrow('no function of that name')
  })

  it('can be found by its name', () => {
    const document = { service: 's', rules: [{ name: 'r', key: { first: ['fn:a', 'fn:b'] }, limits: { rpm: 1 } }] }
    const policy = compilePolicy(document, { functions: (name) => () => name })
    expect(policy.match(view(), 0).rules[0]?.subject).toBe('#0/a')
    expect(() => compilePolicy(document, { functions: () => undefined })).toThrow('no function of that name')
  })

  it.each([null, undefined, '', [], [''], ['a', null], {}, [{}], Number.NaN, Array(40).fill('a')])(
    'is missing when a function returns %j',
    (result) => expect(subject((() => result) as never, {})).toBeUndefined(),
  )

  it.each([
    () => {
      throw new Error('boom')
    },
    async () => 'a',
    // Nobody waits for it: this must not end the process either.
    async () => {
      throw new Error('boom')
    },
  ])('is one bucket for all when a function fails, so that nobody gets around the rule: %s', async (fails) => {
    const policy = policyOf(fails as never)
    const [rule] = policy.match(view(), 0).rules
    expect(rule?.subject).toBeDefined()
    expect(rule?.subject).toBe(policy.match({ ...view(), method: 'POST' }, 0).rules[0]?.subject)
    expect(policy.explain(view(), 0)[0]?.why).toMatch(/boom|promise/)
    await new Promise((resolve) => setImmediate(resolve))
  })
})

describe('a key that a person types', () => {
  const why = (key: KeySpec, ...parts: KeyPart[]) => policyOf(key).rules[0]?.whyNoRequestHas(parts)

  it('is one that requests can have only with the number of parts of the rule', () => {
    expect(why(['body.a', 'body.b'], 'x')).toBe('its keys have 2 parts, body.a, body.b; 1 was given')
    expect(why('body.a', 'x', 'y')).toBe('its keys have 1 part, body.a; 2 were given')
    expect(why(['body.a', 'body.b'], 'x', 'y')).toBeUndefined()
  })

  it('begins with the number of the alternative where there are several', () => {
    const key = { first: ['headers.x-key', ['body.a', 'body.b'], () => 'made'] } as KeySpec
    expect(why(key, 0, 'x')).toBeUndefined()
    expect(why(key, 1, 'x', 'y')).toBeUndefined()
    expect(why(key, 2, 'x', 'y', 'z')).toBeUndefined()
    for (const wrong of [['x'], ['0', 'x'], [1, 'x'], [3, 'x'], [2], [0.5, 'x']] as KeyPart[][])
      expect(why(key, ...wrong)).toContain('#0/headers.x-key or #1/body.a/body.b or #2/the parts')
    expect(why({ first: ['body.a'] }, 'x')).toContain('#0/body.a')
  })

  it('may have any number of parts where a function makes the keys, or the rule has none', () => {
    expect(why(() => ['a', 'b'], 'x')).toBeUndefined()
    const keyless = compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rpm: 1 } }] })
    expect(keyless.rules[0]?.whyNoRequestHas(['a', 'b', 'c'])).toBeUndefined()
  })

  it('is never refused when a request has it', () => {
    const key = { first: ['headers.x-key', ['body.a', 'body.b'], 'ip'] } as KeySpec
    const policy = policyOf(key)
    const value = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.object())
    fc.assert(
      fc.property(fc.record({ a: value, b: value }), fc.string(), fc.boolean(), (body, header, hasHeader) => {
        const request = view({ body, ip: '192.0.2.1', headers: hasHeader ? { 'x-key': header } : {} })
        const { subject } = policy.match(request, 0).rules[0]!
        expect(policy.rules[0]?.whyNoRequestHas(decodeKey(subject))).toBeUndefined()
      }),
    )
  })
})

describe('a missing key', () => {
  it('means that the rule does not apply', () => {
    expect(policyOf('body.x').match(view(), 0)).toEqual({ rules: [], refusedBy: undefined })
    expect(policyOf('body.x').explain(view(), 0)[0]?.why).toBe('the request lacks body.x')
  })

  it('refuses the request when the rule says onMissing: deny', () => {
    const policy = policyOf('body.x', { onMissing: 'deny' })
    expect(policy.match(view(), 0).refusedBy?.name).toBe('r')
    expect(policy.match(view({ body: { x: 1 } }), 0).refusedBy).toBeUndefined()
    expect(policy.explain(view(), 0)[0]?.why).toContain('onMissing: deny')
  })

  it('refuses nothing in a shadow rule, or where the rule does not match', () => {
    expect(policyOf('body.x', { onMissing: 'deny', mode: 'shadow' }).match(view(), 0).refusedBy).toBeUndefined()
    expect(policyOf('body.x', { onMissing: 'deny', match: { path: '/a' } }).match(view(), 0).refusedBy).toBeUndefined()
  })
})

describe('a rule without a key', () => {
  it('is used only through take', () => {
    const policy = compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rpm: 1 } }] })
    expect(policy.match(view(), 0).rules).toEqual([])
    expect(policy.rule('r')?.limitsFor('x', undefined, 0).limits).toHaveLength(1)
  })

  it.each([{ match: { path: '/a' } }, { onMissing: 'deny' }, { cost: 'body.n' }])('cannot say %j', (more) => {
    expect(() => compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rpm: 1 }, ...more }] })).toThrow(
      'without a key',
    )
  })
})
