import { expect, it } from 'vitest'
import { hasDotSegments } from './dot-segments.ts'

const encoded = (text: string, times: number): string =>
  times === 0 ? text : encoded(encodeURIComponent(text), times - 1)

it.each([
  ...['/a/../b', '/..', '/./a', '/%2e%2e/b', '/.%2E', '/a/..;x/b', '/..%2fb', '/..%5cb', '/%252e%252e', '/%00', '/%'],
  `/${encoded('%2e%2e', 5)}`,
])('%s leaves its folder for some server', (path) => expect(hasDotSegments(path)).toBe(true))

it.each(['/', '/a.b/c..d', '/...', '/%20', '/a%2fb', '/100%25', `/${encoded('%20', 6)}`])('%s stays', (path) =>
  expect(hasDotSegments(path)).toBe(false),
)

it('what is encoded again and again is refused, and not decoded to its end', () => {
  const path = (times: number): string => `/%${'25'.repeat(times)}20`
  expect(hasDotSegments(path(100_000))).toBe(true)
  expect(hasDotSegments(path(5))).toBe(false)
})
