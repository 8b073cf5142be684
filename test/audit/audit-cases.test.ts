import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { operationCases } from './operation-cases.ts'
import { requestCases } from './request-cases.ts'

const auditCases = { ...requestCases, ...operationCases }

const root = join(import.meta.dirname, '..', '..')
const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, i) => `${letter}${i + 1}`)

describe('every finding of the audit', () => {
  it('is in the table', () => {
    const counts = { A: 14, B: 9, H: 5, M: 11, S: 7, O: 15, W: 11, U: 11 }
    const ids = Object.entries(counts).flatMap(([letter, count]) => numbered(letter, count))
    expect(Object.keys(auditCases)).toEqual(expect.arrayContaining(ids))
  })

  it.each(Object.entries(auditCases))('%s has its test, or a reason why not', (_, { tests, decided }) => {
    expect(tests.length > 0 || decided !== undefined).toBe(true)
    for (const [file, text] of tests) expect(readFileSync(join(root, file), 'utf8'), file).toContain(text)
  })
})
