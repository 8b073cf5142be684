import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sha256, sha256InJavaScript } from '../core/sha256.ts'
import { useNativeSha256 } from './native-sha256.ts'

it('the hash of node:crypto is the hash in JavaScript, also of lone surrogates', () => {
  useNativeSha256()
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => sha256(text) === sha256InJavaScript(text)),
  )
  expect(sha256('\ud800'.repeat(300))).toBe(sha256InJavaScript('\ud800'.repeat(300)))
})
