import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { proxyTokens } from './tokens.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tokens-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function read(text: string, env: Record<string, string> = {}) {
  const file = join(folder, 'tokens')
  writeFileSync(file, text)
  return proxyTokens({ SLUICE_PROXY_TOKENS_FILE: file, ...env }).current
}

test('callers of the proxy are named by a file, beside the token that all others share', () => {
  const text = '# callers\n\nbilling  0123456789\nsearch abcdefghij\nbilling 9876543210\n'
  expect(read(text, { INTERNAL_SERVICE_TOKEN: 'inside' })).toEqual([
    { name: 'billing', token: '0123456789' },
    { name: 'search', token: 'abcdefghij' },
    { name: 'billing', token: '9876543210' },
    { name: 'internal', token: 'inside' },
  ])
  expect(proxyTokens({}).current).toEqual([])
})

test.each([
  ['is empty', '\n', /one "name token" per line/],
  ['has a line without a token', 'billing\n', /"name token" in line 1/],
  ['has a short token', 'a 0123456789\nb short\n', /"name token" in line 2/],
  ['has a line with three words', 'a 0123456789 x\n', /"name token" in line 1/],
  ['gives two callers the same token', 'a 0123456789\nb 0123456789\n', /a token of its own/],
])('a file that %s stops the start', (_, text, message) => {
  expect(() => read(text)).toThrow(message)
})

test('a file that is not there stops the start', () => {
  expect(() => proxyTokens({ SLUICE_PROXY_TOKENS_FILE: join(folder, 'none') })).toThrow(/can be read/)
})
