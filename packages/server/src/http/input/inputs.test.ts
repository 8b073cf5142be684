import { describe, expect, test } from 'vitest'
import { BatchCheck, Check, Settle } from '../../shapes/decisions.ts'
import { readInput, viewOf } from './inputs.ts'

describe('a request in the body is read as adapters read theirs', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::/64'],
    ['2001:DB8:0::2', '2001:db8::/64'],
    ['2001:db8::/64', '2001:db8::/64'],
    ['unknown', 'unknown'],
  ])('the address %s is the subject %s', (given, ip) => {
    expect(viewOf({ ip: given })).toMatchObject({ ip })
  })

  test('a parameter that comes twice is a list, not the last one', () => {
    expect(viewOf({ path: '/a?user=1&user=2&b=3#c' })).toMatchObject({
      path: '/a',
      query: { user: ['1', '2'], b: '3' },
    })
    expect(viewOf({ path: '/a' }).query).toBeUndefined()
  })
})

describe('a wrong input is answered with its path and what would be right', () => {
  const detailOf = (read: () => unknown): string => {
    try {
      return JSON.stringify(read())
    } catch (error) {
      return (error as Error).message
    }
  }

  test.each([
    [Check, 7, 'The body must be an object.'],
    [Check, {}, 'The body must have a key, such as "user:1", or a request.'],
    [Check, { key: 'a', rulee: 'r' }, 'rulee is not known; known are key, rule, tier, class, cost, request, mirror.'],
    [Check, { key: 'a', cost: '1' }, 'cost must be a whole number.'],
    [Check, { key: ['a', {}] }, 'key[1] must be a text, a number or a boolean.'],
    [Check, { key: {} }, 'key must be a text, or a list of 1 to 32 parts that are texts, numbers or booleans.'],
    [Check, { key: 'a', request: {} }, 'key cannot stand beside request, which rules are matched against.'],
    [Check, { request: { headers: { a: 1 } } }, 'request.headers.a must be a text or a list of texts.'],
    [Check, { request: { query: ['a'] } }, 'request.query must be an object.'],
    [Settle, { key: 'a', id: 'i', actual: { r: 0.5 } }, 'actual.r must be a whole number.'],
  ] as const)('%#: %j', (shape, value, detail) => {
    expect(detailOf(() => readInput(shape, value))).toBe(detail)
  })

  test('in one of many checks', () => {
    expect(detailOf(() => readInput(BatchCheck, { key: 1 }, 'checks[3]'))).toMatch(/^checks\[3\]\.key must be a text/)
  })
})
