import { describe, expect, it, test } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'
import { canonicalPath, isStrange, pathSpellings } from './path-spellings.ts'

const policy = compilePolicy({
  service: 's',
  rules: [
    { name: 'log-in', match: { path: '/login' }, key: 'const:all', limits: { rpm: 1 } },
    { name: 'file', match: { path: '/files/:name' }, key: 'params.name', limits: { rpm: 1 } },
    { name: 'page', match: { path: '/p/*' }, key: 'path', limits: { rpm: 1 } },
  ],
})
const matched = (path: string) => policy.match({ method: 'GET', path, headers: {} }, 0).rules

describe('a rule covers every spelling that leads to its handler', () => {
  it.each([
    ...['/login', '/LOGIN/', '//login', '///login//', '/%6cogin', '/%6Cog%69n', '/\\login', '\\login', '/x\\..\\login'],
    ...[
      '/a/../login',
      '/a/b/../../login',
      '/./login',
      '/%2e/login',
      '/a/%2e%2e/login',
      '/a/.%2E/login',
      '/a/..%2flogin',
    ],
    ...[
      '/login;x=1',
      '/login;',
      '/;x/login',
      '/login;/../y',
      '/a;b/../login',
      '/..;/login',
      '//host/login',
      '/\\host/login',
    ],
    ...[
      'http://host/login',
      'http://host?/login',
      'http://host#/login',
      'http://a\\login',
      '/login/.',
      '/x%5c..%5clogin',
      '*login',
      '*/login',
      '*x/../login',
    ],
  ])('%s', (path) => {
    expect(matched(path).map(({ rule }) => rule.name)).toContain('log-in')
    expect(policy.explain({ method: 'GET', path, headers: {} }, 0)[0]!.matched).toBe(true)
  })

  it.each(['/logi', '/login/x', '/a/login', '/login%', '/%6login'])('and not %s', (path) => {
    expect(matched(path)).toEqual([])
  })

  it.each(['/files/a%2fb', '/files/a\\b', '/files/a;b', '/files/..', '/files/x/../a'])(
    'a capture takes what a router takes for one segment: %s',
    (path) => expect(matched(path).map(({ rule }) => rule.name)).toEqual(['file']),
  )
})

describe('the path as a key', () => {
  const spellings = [
    '/p/a',
    '/P/A',
    '/p/a/',
    '//p//a',
    '/p/%61',
    '/p/./a',
    '/p/x/../a',
    '/p\\a',
    '/p%2fa',
    '/p/a;x=1',
    '*p/a',
  ]
  it.each(spellings)('%s is the same subject as the others', (path) =>
    expect(matched(path).map(({ subject }) => subject)).toEqual(matched('/p/a').map(({ subject }) => subject)),
  )
  test('tells different paths apart', () => expect(canonicalPath('/p/b')).toBe('/p/b'))
})

test('an ordinary path has one spelling, also with escapes, dots and dashes in names', () => {
  for (const path of ['/', '/v1/users/42', '/a%20b', '/.well-known/x', '/a..b/c.', '/v1/']) {
    expect(isStrange(path)).toBe(false)
    expect(pathSpellings(path)).toEqual([path])
  }
})

test('the number of spellings is bounded, however strange a path is', () => {
  const path = `http://h?/${'a\\../%2e%2f;x/..//'.repeat(500)}`
  expect(pathSpellings(path).length).toBeLessThan(40)
})

describe('a strange path that is too long to take apart', () => {
  const long = '/x/..'.repeat(300)
  it.each([`${long}/login`, `${long}/files/a`, `${long}/p/q`])('is counted by every rule', (path) => {
    expect(matched(path).map(({ rule, subject }) => [rule.name, subject])).toEqual([
      ['log-in', 'all'],
      ['file', '#false'],
      ['page', expect.any(String)],
    ])
    expect(policy.explain({ method: 'GET', path, headers: {} }, 0).every((rule) => rule.matched)).toBe(true)
  })
  test('one that is only long is taken as it is', () => expect(matched(`/${'x'.repeat(9999)}`)).toEqual([]))
})
