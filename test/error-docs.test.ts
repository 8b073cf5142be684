import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../packages/sluice/src/core/errors.ts'

const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
const documented = [...page.matchAll(/^\| `(SLUICE_\w+)` \| \S.+ \|$/gm)].map(([, code]) => code)

describe('docs/errors.md', () => {
  it('says what every code means, and lists no other', () => {
    expect(documented).toEqual(errorCodes)
  })
})
