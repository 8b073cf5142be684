import { expect, test } from 'vitest'
import type { CacheResult } from './cache.ts'
import { cacheHeaders } from './cache-headers.ts'

const answer = (given: Partial<CacheResult<unknown>> = {}): CacheResult<unknown> => ({
  value: Object.freeze({ usd: 1 }),
  stale: false,
  ageMs: 12_900,
  freshMs: 47_100,
  from: 'memory',
  ...given,
})

test('a fresh answer may be kept for as long as it is fresh here', () => {
  const { headers } = cacheHeaders(answer(), { staleWhileRevalidate: '30s', staleIfError: '5m' })
  expect(headers).toMatchObject({
    'cache-control': 'public, max-age=59, stale-while-revalidate=30, stale-if-error=300',
    age: '12',
  })
})

test('a stale answer must not be kept', () => {
  const { headers } = cacheHeaders(answer({ stale: true, freshMs: 0 }), { staleWhileRevalidate: '30s' })
  expect(headers['cache-control']).toBe('public, max-age=0, must-revalidate')
})

test('what never changes is immutable, unless a bound is given', () => {
  const forever = answer({ freshMs: Infinity, ageMs: 0 })
  expect(cacheHeaders(forever).headers['cache-control']).toBe('public, max-age=31536000, immutable')
  const bounded = cacheHeaders(forever, { maxAge: '1m', visibility: 'private' })
  expect(bounded.headers['cache-control']).toBe('private, max-age=60')
})

test('equal values have equal tags, and a client that has the value gets a 304', () => {
  const { etag } = cacheHeaders(answer()).headers
  const again = cacheHeaders(answer({ value: { usd: 1 } }), { ifNoneMatch: `"other", ${etag!.replace('W/', '')}` })
  expect(again).toMatchObject({ notModified: true, headers: { etag } })
  expect(cacheHeaders(answer({ value: { usd: 2 } }), { ifNoneMatch: etag }).notModified).toBe(false)
  expect(cacheHeaders(answer(), { ifNoneMatch: '*' }).notModified).toBe(true)
  expect(cacheHeaders(answer()).notModified).toBe(false)
  expect(cacheHeaders(answer(), { ifNoneMatch: new Headers().get('if-none-match') }).notModified).toBe(false)
})

test('a value that cannot be cached has no tag', () => {
  class Money {}
  const { headers, notModified } = cacheHeaders(answer({ value: new Money() }), { ifNoneMatch: '*' })
  expect(Object.keys(headers)).toEqual(['cache-control', 'age'])
  expect(notModified).toBe(false)
})
