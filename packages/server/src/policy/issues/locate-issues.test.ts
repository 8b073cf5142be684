import { PolicyError } from 'sluice'
import { compilePolicy } from 'sluice/policy'
import { describe, expect, test } from 'vitest'
import { locateIssues } from './locate-issues.ts'

/** The words of the text that are underlined, by the message. */
function underlined(text: string): string[] {
  try {
    compilePolicy(text)
    return []
  } catch (error) {
    const { issues } = error as PolicyError
    const lines = text.split('\n')
    return locateIssues(text, issues).map((range) =>
      range === undefined
        ? 'nowhere'
        : range.line === range.endLine
          ? lines[range.line - 1]!.slice(range.column - 1, range.endColumn - 1)
          : `${lines[range.line - 1]!.slice(range.column - 1)}...`,
    )
  }
}

describe('a mistake is underlined', () => {
  test.each([
    ['at a wrong value', 'service: a\nrules:\n  - name: r\n    limits: { rpm: -1 }\n', ['-1']],
    [
      'at an unknown field',
      'service: a\nrules:\n  - name: r\n    limts: { rpm: 1 }\n    limits: { rpm: 1 }\n',
      ['limts'],
    ],
    ['at what lacks a field', 'service: a\nrules:\n  - name: r\n    key: ip\n', ['name']],
    [
      'at a wrong selector in a list',
      'service: a\nrules:\n  - { name: r, key: [ip, bdy.x], limits: { rpm: 1 } }\n',
      ['bdy.x'],
    ],
    ['in JSON', '{ "service": "a", "rules": [{ "name": "r", "limits": { "rpm": "x" } }] }', ['"x"']],
    [
      'at a name with a dot',
      'service: a\nrules: [{ name: r, key: ip, match: { body: { a.b: {} } }, limits: { rpm: 1 } }]',
      ['a.b'],
    ],
    [
      'at a field that is given twice',
      'service: a\nservice: b\nrules: [{ name: r, limits: { rpm: 1 } }]',
      ['service: b'],
    ],
    ['where the text is no YAML', 'service: a\nrules: [{ name: r\n', ['nowhere']],
  ])('%s', (_, text, words) => {
    const found = underlined(text)
    if (words[0] === 'nowhere') expect(found.length).toBeGreaterThan(0)
    else expect(found).toEqual(words)
  })
})

test('two mistakes are underlined each for itself', () => {
  const text = 'service: a\nrules:\n  - { name: r, limits: { rpm: -1 } }\n  - { name: s, limits: { rpm: 1.5 } }\n'
  expect(underlined(text)).toEqual(['-1', '1.5'])
})
