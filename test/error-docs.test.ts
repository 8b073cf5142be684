import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../packages/sluice/src/core/errors.ts'

const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
const documented = Object.fromEntries(
  [...page.matchAll(/^\| `(SLUICE_\w+)` \| (.+) \|$/gm)].map(([, code, meaning]) => [code, meaning]),
)

describe('docs/errors.md', () => {
  it('lists every code with the sentence the code has, and no other', () => {
    expect(documented).toEqual(errorCodes)
  })
})
