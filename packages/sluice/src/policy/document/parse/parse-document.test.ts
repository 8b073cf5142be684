import { describe, expect, it } from 'vitest'
import { PolicyError } from '../policy-error.ts'
import { parseDocument } from './parse-document.ts'

/** Ten aliases of ten aliases and so on: a thousand million values. */
const bomb = Array.from(
  { length: 10 },
  (_, i) => `a${i}: &a${i} [${i === 0 ? 'x' : Array(10).fill(`*a${i - 1}`)}]`,
).join('\n')

describe('a document', () => {
  it('with very many mistakes lists the first 200, and says so', () => {
    const twice = 'a: 1\n'.repeat(20_000)
    const refused = ((): unknown => {
      try {
        return parseDocument(twice)
      } catch (error) {
        return error
      }
    })() as PolicyError
    expect(refused).toBeInstanceOf(PolicyError)
    expect(refused.issues).toHaveLength(200)
    expect(refused.message).toContain('and at least 180 more')
  })

  it('is YAML or JSON', () => {
    expect(parseDocument('service: a\nrules: [{ name: b }]')).toEqual({ service: 'a', rules: [{ name: 'b' }] })
    expect(parseDocument('\ufeff{"service": "a:\\"b\\\\", "rules": []}')).toEqual({ service: 'a:"b\\', rules: [] })
    expect(parseDocument('{ service: a, rules: [] } # flow style')).toEqual({ service: 'a', rules: [] })
  })

  it('may share a value by an alias', () => {
    expect(parseDocument('a: &gold { rpm: 5 }\nb: *gold\nc: *gold')).toEqual({
      a: { rpm: 5 },
      b: { rpm: 5 },
      c: { rpm: 5 },
    })
  })

  it('keeps words and dates as text, and never merges', () => {
    expect(parseDocument('a: yes\nb: 2027-01-31\nc: { <<: { d: 1 } }')).toEqual({
      a: 'yes',
      b: '2027-01-31',
      c: { '<<': { d: 1 } },
    })
  })

  it.each([
    ['cut off', 'service: a\nrules:\n  - name: "b', 'line 3'],
    ['cut off in JSON', '{"service": "a", "rules": [{', 'line 1'],
    ['empty', '', 'it is empty'],
    ['only a comment', '# nothing', 'it is empty'],
    ['a field twice', 'a: 1\nb: 2\na: 3', 'line 3, column 1 is "a: 3"; the field is given twice'],
    ['a field twice in JSON', '{"a": 1, "a": 1}', 'the field is given twice'],
    ['a field twice by number and text', '1: a\n"1": b', 'the field is given twice'],
    ['a field twice in flow style', 'a: { b: 1, b: 2 }', 'the field is given twice'],
    ['two documents', 'a: 1\n---\nb: 2', 'a second document begins here'],
    ['an unknown tag', 'a: !!js/function x', 'Unresolved tag'],
    ['an alias without anchor', 'a: *b', 'Unresolved alias'],
    ['tabs', 'a:\n\tb: 1', 'line 2'],
    [
      'a list that contains itself',
      'a: 1\nrules: &a [*a]',
      'line 2, column 12 is "rules: &a [*a]"; it contains itself',
    ],
    ['a rule that contains its list', 'rules: &a\n  - { overrides: *a }', 'line 2, column 18'],
    ['aliases that multiply', bomb, 'line 10, column 46'],
    ['10^5 brackets', '['.repeat(1e5), 'nest at most 64 levels'],
    ['10^5 dashes', '- '.repeat(1e5), 'nest at most 64 levels'],
    ['10^5 question marks', '? '.repeat(1e5), 'nest at most 64 levels'],
    ['10^5 brackets in JSON', `{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`, 'nest at most 32 levels'],
    [
      'a field called __proto__ in JSON',
      '{"a": {"__proto__": {"b": 1}}}',
      'a.__proto__ is undefined; no field can have this name',
    ],
    ['too much text', ' '.repeat(17 * 1024 * 1024), 'use at most 16777216 characters'],
    ['ten thousand aliases', `a: &a 1\nb: [${'*a, '.repeat(10_000)}]`, 'use at most 1000 aliases'],
  ])('is refused when it is %s', (_, text, message) => {
    expect(() => parseDocument(text)).toThrow(PolicyError)
    expect(() => parseDocument(text)).toThrow(message)
  })

  it('is refused when its aliases multiply', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let i = 1; i < 12; i++)
      lines.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      )
    expect(() => parseDocument(lines.join('\n'))).toThrow('it cannot be read: Excessive alias count')
  })
})
