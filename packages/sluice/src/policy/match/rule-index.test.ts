import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'
import { parsePattern } from '../condition/path-pattern.ts'
import type { MatchSpec } from '../document/document.ts'
import { type RequestView, unreadableBody } from '../request-view.ts'

function matches(match: MatchSpec, request: Partial<RequestView>): boolean {
  const policy = compilePolicy({ service: 's', rules: [{ name: 'r', match, key: 'const:all', limits: { rpm: 1 } }] })
  const view = { method: 'GET', path: '/', headers: {}, ...request }
  const matched = policy.match(view, 0).rules.length === 1
  expect(policy.explain(view, 0)[0]?.matched, 'explain agrees').toBe(matched)
  return matched
}

describe('a path pattern', () => {
  it.each([
    ['/v1/analyze', '/v1/analyze'],
    ['/v1/analyze', '/v1/analyze/'],
    ['/v1/analyze', '//v1//analyze'],
    ['/v1/analyze', '/V1/Analyze'],
    ['/v1/analyze', '/v1/%61nalyze'],
    ['/v1/café', '/v1/caf%C3%A9'],
    ['/v1/users/:id', '/v1/users/7'],
    ['/v1/users/:id/posts/:post', '/v1/users/7/posts/8'],
    ['/v1/*', '/v1/a/b/c'],
    ['/v1/*', '/v1'],
    ['/*', '/'],
    ['/', ''],
    ['/models/x:predict', '/models/x:predict'],
  ])('%s fits %s', (path, sent) => expect(matches({ path }, { path: sent })).toBe(true))

  it.each([
    ['/v1/analyze', '/v1/analyze/x'],
    ['/v1/analyze', '/v1'],
    ['/v1/users/:id', '/v1/users'],
    ['/v1/users/:id', '/v1/users/'],
    ['/v1/*', '/v2'],
    ['/', '/x'],
    ['/v1/a', '/v1/%E0%A4%A'],
  ])('%s does not fit %s', (path, sent) => expect(matches({ path }, { path: sent })).toBe(false))

  it.each([
    ['v1', 'begin with a slash'],
    ['/a*', '* stands alone at the end'],
    ['/*/a', '* stands alone at the end'],
    ['/:id.json', 'is no name'],
    ['/:', 'is no name'],
    ['/:a/:a', 'captured twice'],
    ['/a?b=c', 'without query'],
    [`${'/a'.repeat(65)}`, 'at most 64 segments'],
  ])('%s is refused', (text, message) => expect(parsePattern(text)).toContain(message))
})

describe('conditions', () => {
  const headers = { 'x-plan': 'gold' }

  it('on methods hold for the methods listed, and for HEAD where GET is', () => {
    expect(matches({ method: ['POST', 'put'] }, { method: 'PUT' })).toBe(true)
    expect(matches({ method: 'POST' }, { method: 'GET' })).toBe(false)
    expect(matches({ method: 'GET' }, { method: 'HEAD' })).toBe(true)
  })

  it('on fields compare as text', () => {
    expect(matches({ headers: { 'X-Plan': 'gold' } }, { headers })).toBe(true)
    expect(matches({ headers: { 'x-plan': ['silver', 'bronze'] } }, { headers })).toBe(false)
    expect(matches({ body: { 'a.n': 1 } }, { body: { a: { n: '1' } } })).toBe(true)
    expect(matches({ body: { ok: true } }, { body: { ok: true } })).toBe(true)
    expect(matches({ query: { v: ['1', '2'] } }, { query: { v: '2' } })).toBe(true)
  })

  it('ask whether a field is there, of whatever type', () => {
    expect(matches({ body: { items: { exists: true } } }, { body: { items: [] } })).toBe(true)
    expect(matches({ body: { items: { exists: true } } }, { body: {} })).toBe(false)
    expect(matches({ headers: { 'x-plan': { exists: false } } }, { headers })).toBe(false)
    expect(matches({ headers: { 'x-other': { exists: false } } }, { headers })).toBe(true)
  })

  it('are all needed', () => {
    const match = { method: 'POST', path: '/a', headers: { 'x-plan': 'gold' }, body: { n: 1 } }
    const request = { method: 'POST', path: '/a', headers, body: { n: 1 } }
    expect(matches(match, request)).toBe(true)
    for (const wrong of [{ method: 'GET' }, { path: '/b' }, { headers: {} }, { body: { n: 2 } }]) {
      expect(matches(match, { ...request, ...wrong })).toBe(false)
    }
  })
})

describe('the index', () => {
  const segment = fc.constantFrom('a', 'b', ':x', ':y', 'C')
  const path = fc
    .tuple(fc.uniqueArray(segment, { maxLength: 3 }), fc.boolean())
    .map(([segments, open]) => `/${[...segments, ...(open ? ['*'] : [])].join('/')}`)
  const value = fc.constantFrom('1', '2', 3)
  const match = fc.record(
    {
      method: fc.constantFrom('GET', 'POST'),
      path: fc.oneof(path, fc.array(path, { minLength: 1, maxLength: 3 })),
      headers: fc.record({
        h: fc.oneof(value, fc.array(value, { minLength: 1 }), fc.record({ exists: fc.boolean() })),
      }),
      body: fc.record({ b: value, c: value }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'HEAD'),
    preflight: fc.boolean(),
    path: fc.array(fc.constantFrom('a', 'b', 'c', 'C', '%61', '')).map((segments) => `/${segments.join('/')}`),
    headers: fc.record({ h: fc.constantFrom('1', '2', '3') }, { requiredKeys: [] }),
    body: fc.oneof(
      fc.record({ b: fc.constantFrom('1', 2), c: fc.constantFrom('1', '3') }, { requiredKeys: [] }),
      fc.constantFrom(unreadableBody, 'text'),
    ),
  })

  it('finds exactly the rules that apply when each is asked by itself, in order, with what their paths captured', () => {
    fc.assert(
      fc.property(
        fc.array(match, { minLength: 1, maxLength: 12 }),
        fc.array(request, { maxLength: 8 }),
        (matchers, requests) => {
          const rules = matchers.map((one, i) => ({
            name: `r${i}`,
            match: one,
            key: ['params.x ?? -', 'params.y ?? -'],
            limits: { rpm: 1 },
          }))
          const policy = compilePolicy({ service: 's', rules })
          for (const view of requests) {
            const found = policy.match(view, 0).rules.map(({ rule, subject }) => [rule.name, subject])
            const told = policy.explain(view, 0).filter(({ matched }) => matched)
            expect(found).toEqual(told.map(({ rule, match }) => [rule, match?.subject]))
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a body that could not be read', () => {
  const unread: readonly unknown[] = [unreadableBody, '{"n":1}', Buffer.from('{"n":1}')]

  it.each([{ n: 1 }, { n: [1, 2] }, { n: { exists: true } }, { n: { exists: false } }, { n: 1, m: { exists: false } }])(
    'may be anything, so it is matched by %j',
    (body) => {
      for (const each of unread) expect(matches({ body }, { body: each })).toBe(true)
    },
  )

  it('is no reason to leave out the other conditions', () => {
    const match = { path: '/a', headers: { 'x-plan': 'gold' }, body: { n: 1 } }
    const request = { path: '/a', headers: { 'x-plan': 'gold' }, body: unreadableBody }
    expect(matches(match, request)).toBe(true)
    expect(matches(match, { ...request, path: '/b' })).toBe(false)
    expect(matches(match, { ...request, headers: {} })).toBe(false)
  })

  it('finds every rule by a value of one field once', () => {
    const rules = [1, 2, 3].map((n) => ({
      ...{ name: `r${n}`, match: { path: '/a', body: { n: [n, n + 1] } } },
      ...{ key: 'const:all', limits: { rpm: 1 } },
    }))
    const policy = compilePolicy({ service: 's', rules })
    const found = policy.match({ method: 'POST', path: '/a', headers: {}, body: unreadableBody }, 0)
    expect(found.rules.map(({ rule }) => rule.name)).toEqual(['r1', 'r2', 'r3'])
  })

  it('is a body: where there is none, or a value that is no text, nothing is matched', () => {
    for (const body of [undefined, null, 5, {}, []]) expect(matches({ body: { n: 1 } }, { body })).toBe(false)
  })
})

describe('a preflight', () => {
  it.each<[MatchSpec, boolean]>([
    [{ path: '/a' }, true],
    [{ path: '/*' }, true],
    [{ path: '/a', method: 'OPTIONS' }, true],
    [{ path: '/a', method: 'GET' }, false],
    [{ path: '/b' }, false],
    [{ method: 'OPTIONS' }, false],
    [{}, false],
  ])('is matched only by rules that name its path: %j', (match, expected) => {
    expect(matches(match, { method: 'OPTIONS', path: '/a', preflight: true })).toBe(expected)
  })
})
