import { expect, test } from 'vitest'
import { checkFunction, checkOptionNames, checkShare, checkWhole } from './check-options.ts'

test('an unknown option is refused with the nearest known one', () => {
  expect(() => checkOptionNames('createBreaker', { failurs: 5 }, ['failures', 'probes'])).toThrow(
    'createBreaker.failurs is 5; did you mean "failures"? there is no such option; known are failures, probes',
  )
  expect(() => checkOptionNames('createBreaker', { failures: 5 }, ['failures'])).not.toThrow()
})

test.each([undefined, null, 5, 'text', [[]]])('%s is no options object', (options) => {
  expect(() => checkOptionNames('createBreaker', options, ['failures'])).toThrow('createBreaker options')
})

test.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 31, '5', null, undefined])(
  '%s is no whole number from 1',
  (value) => {
    expect(() => checkWhole('createBreaker.failures', value, 1, 'failures')).toThrow(
      'use a whole number of failures from 1',
    )
  },
)

test.each([0, -0.1, 1.1, Number.NaN, '0.5', undefined])('%s is no share', (value) => {
  expect(() => checkShare('jitter', value)).toThrow('use a number above 0 and up to 1')
})

test('a function may be left out but not be something else', () => {
  expect(() => checkFunction('isFailure', undefined)).not.toThrow()
  expect(() => checkFunction('isFailure', () => true)).not.toThrow()
  expect(() => checkFunction('isFailure', true)).toThrow('isFailure is true; pass a function')
})

test.each([{}, 5, 'utc'])('%j is no clock', (clock) => {
  expect(() => checkOptionNames('createLimiter', { clock }, ['clock'])).toThrow(
    /createLimiter.clock is .*; pass virtualClock\(\)/,
  )
  expect(() => checkOptionNames('createLimiter', { clock: undefined }, ['clock'])).not.toThrow()
})
