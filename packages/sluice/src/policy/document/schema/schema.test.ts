import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../compile/compile-policy.ts'
import { parseDocument } from '../parse/parse-document.ts'
import { policyJsonSchema } from './schema.ts'

const root = join(import.meta.dirname, '../../../../../..')
const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(policyJsonSchema())
const examples = readdirSync(join(root, 'examples')).filter((name) =>
  existsSync(join(root, 'examples', name, 'sluice.yaml')),
)

describe('policy.schema.json', () => {
  it('is what the schema in code says', () => {
    const file = readFileSync(join(root, 'packages/sluice/policy.schema.json'), 'utf8')
    expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(policyJsonSchema())))
  })

  it('lets a policy, a rule and an override say what they are for', () => {
    const overrides = [{ key: 'a', limits: { rpm: 2 }, description: 'pays more' }]
    const rules = [{ name: 'r', key: 'ip', limits: { rpm: 1 }, description: 'guards the model', overrides }]
    const document = { service: 's', description: 'owned by team search', rules }
    expect(validate(document)).toBe(true)
    const {
      rules: [rule],
    } = compilePolicy(document)
    expect(rule!.limitsFor('a', undefined, 0).limits[0]!.amount).toBe(2)
    expect(() => compilePolicy({ ...document, description: 5 } as never)).toThrow('description')
    expect(() => compilePolicy({ ...document, owner: 'search' } as never)).toThrow('owner')
  })

  it('refuses in an editor what the compiler refuses for its shape', () => {
    expect(validate({ service: 's', rules: [{ name: 'r', limits: { rpm: 1 } }] })).toBe(true)
    for (const wrong of [
      { limts: {} },
      { mode: 'on' },
      { limits: { rpm: -1 } },
      { cost: {} },
      { key: 5 },
      { overrides: [{ key: 'a' }] },
    ]) {
      expect(
        validate({ service: 's', rules: [{ name: 'r', limits: { rpm: 1 }, ...wrong }] }),
        JSON.stringify(wrong),
      ).toBe(false)
    }
  })
})

describe('the policies of the examples', () => {
  it('are there', () => expect(examples.length).toBe(3))

  it.each(examples)('%s compiles, and an editor finds nothing wrong', (name) => {
    const text = readFileSync(join(root, 'examples', name, 'sluice.yaml'), 'utf8')
    expect(compilePolicy(text, { env: {} }).service).toBe(name)
    validate(parseDocument(text))
    expect(validate.errors).toBeNull()
  })
})
