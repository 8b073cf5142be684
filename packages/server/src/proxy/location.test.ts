import { expect, test } from 'vitest'
import { proxiedLocation } from './location.ts'

const below = { name: 'vendor', origin: 'https://vendor.example', pathPrefix: '/base' }
const whole = { ...below, pathPrefix: '/' }

test.each([
  ['https://vendor.example/base/next?a#b', '/vendor/next?a#b'],
  ['https://vendor.example:443/base/next', '/vendor/next'],
  ['HTTPS://VENDOR.example/base', '/vendor/'],
  ['/base/next?a=1', '/vendor/next?a=1'],
  ['/base', '/vendor/'],
  ['//vendor.example/base/x', '/vendor/x'],
  ['/base//elsewhere.example', '/vendor//elsewhere.example'],
])('%s is within the upstream', (location, expected) => {
  expect(proxiedLocation(location, below)).toBe(expected)
})

test.each([
  ...['https://elsewhere.example/base/x', 'http://vendor.example/base/x', '//elsewhere.example/base', '/baseball'],
  ...['/base/../other', '/other', 'https://vendor.example/', 'next', '../next', '?a=1', 'javascript:alert(1)'],
  ...['https://', ''],
])('%j stays as it is', (location) => {
  expect(proxiedLocation(location, below)).toBe(location)
})

test('an upstream that is a whole origin has all paths', () => {
  expect(proxiedLocation('/login?next=%2Fx', whole)).toBe('/vendor/login?next=%2Fx')
  expect(proxiedLocation('https://vendor.example', whole)).toBe('/vendor/')
})
