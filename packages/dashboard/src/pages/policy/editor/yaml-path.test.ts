import { expect, test } from 'vitest'
import { type JsonSchema, suggestions } from './schema.ts'
import { element, yamlPlace } from './yaml-path.ts'

/** The path at ‸, as text. */
function placeOf(text: string): string | undefined {
  const at = text.indexOf('‸')
  const place = yamlPlace(text.replace('‸', ''), at)
  return place && `${place.path.map((step) => (step === element ? '[]' : String(step))).join('.')} ${place.writes}`
}

test.each([
  ['‸', ' name'],
  ['ser‸', ' name'],
  ['service: ‸', 'service value'],
  ['rules:\n  - ‸', 'rules.[] name'],
  ['rules:\n- na‸', 'rules.[] name'],
  ['rules:\n  - name: r\n    ‸', 'rules.[] name'],
  ['rules:\n  - name: r\n    limits:\n      r‸', 'rules.[].limits name'],
  ['rules:\n  - name: r\n    limits:\n      - amount: 1\n        al‸', 'rules.[].limits.[] name'],
  ['rules:\n  - name: r\n    limits: { rpm: 1, ‸', 'rules.[].limits name'],
  ['rules:\n  - { name: r, match: { method: ‸', 'rules.[].match.method value'],
  ['rules: [{ name: a }, { na‸', 'rules.[] name'],
  ['rules:\n  - name: a\n    match:\n      path: /x\n  - name: b\n    mo‸', 'rules.[] name'],
  ['rules:\n  - name: a\n    mode: ‸', 'rules.[].mode value'],
  ['tiers:\n  free: { rpm: 1 }\nrul‸', ' name'],
  ['rules:\n  # comment\n\n  - name: "x: y"\n    key: [ip, ‸', 'rules.[].key.[] name'],
  ['# all‸', undefined],
  ['rules:\n  - name: r # why ‸', undefined],
])('%j', (text, place) => expect(placeOf(text)).toBe(place))

const schema: JsonSchema = {
  type: 'object',
  properties: {
    mode: { anyOf: [{ enum: ['enforce', 'shadow'] }], description: 'How.' },
    rules: { type: 'array', items: { $ref: '#/$defs/rule' } },
    tiers: { type: 'object', additionalProperties: { $ref: '#/$defs/limit' } },
  },
  $defs: {
    rule: {
      type: 'object',
      properties: {
        limits: { anyOf: [{ $ref: '#/$defs/limit' }, { type: 'array', items: { $ref: '#/$defs/limit' } }] },
      },
    },
    limit: { type: 'object', properties: { rpm: { type: 'integer' }, lease: { type: 'boolean' } } },
  },
}

test.each([
  [[], 'name', ['mode', 'rules', 'tiers']],
  [['mode'], 'value', ['enforce', 'shadow']],
  [['rules', element, 'limits'], 'name', ['rpm', 'lease']],
  [['rules', element, 'limits', element], 'name', ['rpm', 'lease']],
  [['tiers', 'free', 'lease'], 'value', ['true', 'false']],
  [['nowhere'], 'name', []],
] as const)('what can be written comes from the schema, %#', (path, writes, labels) => {
  expect(suggestions(schema, path, writes).map(({ label }) => label)).toEqual(labels)
})
