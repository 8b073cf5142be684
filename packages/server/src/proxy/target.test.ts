import { describe, expect, it } from 'vitest'
import { targetOf } from './target.ts'

const one = [{ name: 'vendor' }]
const two = [...one, { name: 'other' }]

describe('the target of a request', () => {
  it.each([
    ['/vendor/graphql?x=1', 'vendor', '/graphql?x=1'],
    ['/vendor', 'vendor', '/'],
    ['/vendor/', 'vendor', '/'],
    ['/other/a/b', 'other', '/a/b'],
    ['/vendor/a;v=1/100%25', 'vendor', '/a;v=1/100%25'],
    ['/vendor/a..;b/...;/..c', 'vendor', '/a..;b/...;/..c'],
    ['/vendor/a%20b/%C3%A4?q=../x', 'vendor', '/a%20b/%C3%A4?q=../x'],
    ['http://evil.example/vendor/x', 'vendor', '/x'],
    ['https://evil.example:99/vendor?y', 'vendor', '/?y'],
  ])('%s goes to %s%s', (url, upstream, path) => {
    expect(targetOf(url, two)).toEqual({ upstream, path })
  })

  it('may leave the name out where there is only one upstream', () => {
    expect(targetOf('/graphql', one)).toEqual({ upstream: 'vendor', path: '/graphql' })
    expect(targetOf('/vendor/graphql', one)).toEqual({ upstream: 'vendor', path: '/graphql' })
  })

  it.each(['/unknown/x', '/Vendor/x', '/%76endor/x', '/', '/__proto__/x'])('%s names no upstream', (url) => {
    expect(targetOf(url, two)).toBe('unknown-upstream')
  })

  it.each([
    '//evil.example/x',
    '/vendor/../other/x',
    '/vendor/..',
    '/vendor/./x',
    '/vendor/%2e%2e/x',
    '/vendor/.%2E/x',
    '/vendor/..%2fx',
    '/vendor/%252e%252e/x',
    '/vendor/%25252e%25252e%25252fadmin',
    '/vendor/%2525252e%2525252e/x',
    '/vendor/..;/admin',
    '/vendor/..;a=b/admin',
    '/vendor/%2e%2e%3b/admin',
    '/vendor/a%252f..%253bx%252fb',
    '/vendor/a%5c..%5cb',
    '/vendor\\..\\x',
    '/vendor/x#y',
    '/vendor/%00',
    '/vendor/%zz',
    '/vendor/ä',
    '/vendor/a b',
    '*',
    'vendor/x',
    '',
    'ftp://a/vendor',
    'http://user@host/vendor',
    'http:///vendor',
  ])('%s is malformed', (url) => expect(targetOf(url, two)).toBe('malformed'))
})
