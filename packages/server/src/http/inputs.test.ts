import { describe, expect, test } from 'vitest'
import { readRequest } from './inputs.ts'

describe('a request in the body is read as adapters read theirs', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::/64'],
    ['2001:DB8:0::2', '2001:db8::/64'],
    ['2001:db8::/64', '2001:db8::/64'],
    ['unknown', 'unknown'],
  ])('the address %s is the subject %s', (given, ip) => {
    expect(readRequest({ ip: given })).toMatchObject({ ip })
  })

  test('a parameter that comes twice is a list, not the last one', () => {
    expect(readRequest({ path: '/a?user=1&user=2&b=3#c' })).toMatchObject({
      path: '/a',
      query: { user: ['1', '2'], b: '3' },
    })
    expect(readRequest({ path: '/a' }).query).toBeUndefined()
  })
})
