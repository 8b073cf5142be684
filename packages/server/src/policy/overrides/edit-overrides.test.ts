import { describe, expect, test } from 'vitest'
import { editOverrides, nextVersion, writtenFor } from './edit-overrides.ts'

const override = { key: ['acme', 'en'], limits: { rpm: 9 }, until: '2040-01-01T00:00:00.000Z' }
const yaml = `service: a # mine
version: 14
rules:
  - name: r # ours
    key: [headers.t, headers.l]
    limits: { rpm: 1 }
`

describe('an override is written', () => {
  test('into YAML, which stays as people wrote it', () => {
    const text = editOverrides(yaml, 'r', override.key, override) as string
    expect(text).toBe(
      `${yaml.replace('14', '14+1')}    overrides:\n      - { key: [ acme, en ], limits: { rpm: 9 }, until: 2040-01-01T00:00:00.000Z }\n`,
    )
    const again = editOverrides(text, 'r', override.key, { ...override, limits: { rpm: 10 } }) as string
    expect(again).toContain('version: 14+2')
    expect(again.match(/acme/g)).toHaveLength(1)
    expect(editOverrides(again, 'r', override.key, undefined)).toBe(yaml.replace('14', '14+3'))
  })

  test('into JSON, which stays JSON', () => {
    const document = {
      service: 'a',
      rules: [{ name: 'r', limits: { rpm: 1 }, overrides: [{ key: 7, limits: { rpm: 2 } }] }],
    }
    const text = editOverrides(JSON.stringify(document), 'r', ['7'], { ...override, key: ['7'] }) as string
    expect(JSON.parse(text)).toEqual({
      service: 'a',
      rules: [{ name: 'r', limits: { rpm: 1 }, overrides: [{ ...override, key: '7' }] }],
    })
  })

  test('into a document of a database, which is not changed itself', () => {
    const document = Object.freeze({ service: 'a', rules: Object.freeze([Object.freeze({ name: 'r' })]) })
    const next = editOverrides(document, 'r', override.key, override)
    expect(writtenFor(next, 'r', override.key)).toEqual({ limits: null, override })
    expect(writtenFor(document, 'r', override.key).override).toBeNull()
  })

  test.each([
    ['no such rule', 'service: a\nrules: [{ name: other }]'],
    ['no rules', 'service: a'],
    ['overrides that are an alias', 'x: &o []\nservice: a\nrules: [{ name: r, overrides: *o }]'],
  ])('nowhere with %s', (_, text) => expect(editOverrides(text, 'r', ['k'], override)).toBeUndefined())
})

test.each([
  [14, '14+1'],
  ['2026-01', '2026-01+1'],
  ['14+9', '14+10'],
])('version %s is followed by %s', (version, next) => expect(nextVersion(version)).toBe(next))

describe('the rest of the text stays as it was', () => {
  const one = { key: ['acme'], limits: { rpm: 9 }, until: '2040-01-01T00:00:00.000Z' }
  const line = '{ key: acme, limits: { rpm: 9 }, until: 2040-01-01T00:00:00.000Z }'

  test.each([
    [
      'a rule in one line',
      'rules: [{name: r, limits: {rpm: 1}}] # end\n',
      `rules: [{name: r, limits: {rpm: 1}, overrides: [${line}] }] # end\n`,
    ],
    [
      'a list in one line',
      'rules:\n- {name: r, overrides: [{ key: b, limits: { rpm: 1 } }]}\n',
      `rules:\n- {name: r, overrides: [{ key: b, limits: { rpm: 1 } }, ${line}]}\n`,
    ],
    ['an empty list', 'rules:\n  - name: r\n    overrides: []\n', `rules:\n  - name: r\n    overrides: [${line}]\n`],
    [
      'a list by lines',
      'rules:\n  - name: r\n    overrides:\n    - key: b   # theirs\n      limits: {rpm: 1}   # low\n\n  - name: s\n',
      `rules:\n  - name: r\n    overrides:\n    - key: b   # theirs\n      limits: {rpm: 1}   # low\n    - ${line}\n\n  - name: s\n`,
    ],
    [
      'an override that is replaced',
      'rules:\n  - name: r\n    overrides:\n      - key: acme\n        limits: {rpm: 1}\n      - key: b\n        limits: {rpm:   2}\n',
      `rules:\n  - name: r\n    overrides:\n      - ${line}\n      - key: b\n        limits: {rpm:   2}\n`,
    ],
  ])('of %s', (_, text, next) => expect(editOverrides(text, 'r', one.key, one)).toBe(next))

  test('and one that is removed takes only itself', () => {
    const text =
      'rules:\n  - name: r\n    overrides:\n      - { key: a, limits: {rpm: 1} }\n      - key: acme\n        limits: {rpm: 1}\n      # last\n'
    expect(editOverrides(text, 'r', ['acme'], undefined)).toBe(
      'rules:\n  - name: r\n    overrides:\n      - { key: a, limits: {rpm: 1} }\n      # last\n',
    )
  })
})
