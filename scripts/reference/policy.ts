import { compilePolicy } from '../../packages/sluice/src/policy/compile/compile-policy.ts'
import { parseDocument } from '../../packages/sluice/src/policy/document/parse/parse-document.ts'
import { policyJsonSchema } from '../../packages/sluice/src/policy/document/schema/schema.ts'
import { code, page, prose, table } from './markdown.ts'
import { policyExamples } from './policy-examples.ts'

/** As much of a JSON Schema as is read here. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

const root = policyJsonSchema() as Schema

const target = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : root.$defs![schema.$ref.replace('#/$defs/', '')]!

interface Section {
  /** Where the object stands, such as `rules[].match`. */
  readonly path: string
  readonly schema: Schema
}

const sections: Section[] = []
const pathOf = new Map<string, string>()
const isInverse = ({ properties }: Schema): boolean => Object.keys(properties ?? {}).join() === 'not'
const identity = (schema: Schema): string => JSON.stringify(schema.properties)

/**
 * Finds every object below a schema, once: what occurs at two places is explained at the first, under its own name if
 * it has one.
 */
function collect(given: Schema, place: string): void {
  const schema = target(given)
  const path = given.$ref?.replace('#/$defs/', '') ?? place
  for (const each of schema.anyOf ?? []) collect(each, path)
  if (schema.items) collect(schema.items, `${path}[]`)
  if (typeof schema.additionalProperties === 'object') collect(schema.additionalProperties, `${path}.*`)
  if (schema.properties === undefined || pathOf.has(identity(schema)) || isInverse(schema)) return
  pathOf.set(identity(schema), path)
  sections.push({ path, schema })
  for (const [name, each] of Object.entries(schema.properties)) {
    // The inverse of something has the same fields as that.
    if (name !== 'not') collect(each, path === '' ? name : `${path}.${name}`)
  }
}

const titleOf = (path: string): string => (path === '' ? 'The document' : path)
const anchorOf = (path: string): string =>
  titleOf(path)
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')

const amount = (value: number): string => value.toLocaleString('en-US')

function rangeOf({ minimum, maximum }: Schema): string {
  if (minimum === undefined || maximum === undefined) return ''
  return maximum > 1e12 ? ` from ${minimum}` : `, ${amount(minimum)} to ${amount(maximum)}`
}

const linkTo = (path: string): string => `[${path.replace(/\[\]$/, '').replace(/^.*\.(?=\w)/, '')}](#${anchorOf(path)})`

/** What may stand there, in a few words. */
function typeOf(given: Schema): string[] {
  const schema = target(given)
  if (given.$ref) return [linkTo(given.$ref.replace('#/$defs/', ''))]
  if (schema.anyOf) {
    const all = [...new Set(schema.anyOf.flatMap(typeOf))]
    const values = ['text', 'number', 'true or false']
    return values.every((each) => all.includes(each)) ? ['value', ...all.filter((each) => !values.includes(each))] : all
  }
  if (schema.enum) return schema.enum.map(code)
  if (schema.const !== undefined) return [code(String(schema.const))]
  if (schema.properties) {
    const path = pathOf.get(identity(schema))
    if (path !== undefined) return [linkTo(path)]
    return [isInverse(schema) ? '`{ not: ... }`' : 'these fields']
  }
  if (schema.items) return [`list of ${typeOf(schema.items).join(' or ')}`]
  if (typeof schema.additionalProperties === 'object')
    return [`by name: ${typeOf(schema.additionalProperties).join(' or ')}`]
  const names = { string: 'text', integer: 'whole number', number: 'number', boolean: 'true or false' }
  const all = [schema.type ?? 'anything'].flat()
  return all.length === 3
    ? ['value']
    : all.map((each) => `${names[each as keyof typeof names] ?? each}${rangeOf(schema)}`)
}

/** The default is the last clause of a description. */
function meaningOf(description: string): { text: string; otherwise: string } {
  const [, text, otherwise] =
    /^(.*)[;,] ([^;]*?),? (?:by default|unless said otherwise|when left out)\.$/.exec(description) ?? []
  return text === undefined ? { text: description, otherwise: '' } : { text: `${text}.`, otherwise: otherwise! }
}

function rowOf(name: string, schema: Schema, required: boolean, path: string): string[] {
  const description =
    schema.description ?? target(schema).description ?? schema.anyOf?.find((each) => each.description)?.description
  if (description === undefined) throw new Error(`the schema does not say what ${path}.${name} means`)
  const { text, otherwise } = meaningOf(description)
  return [code(name), typeOf(schema).join(', '), required ? '**required**' : prose(otherwise), prose(text)]
}

function sectionOf({ path, schema }: Section): string[] {
  const example = policyExamples[path]
  if (example !== undefined) compilePolicy(parseDocument(example))
  const rows = Object.entries(schema.properties!).map(([name, each]) =>
    rowOf(name, each, schema.required?.includes(name) ?? false, path),
  )
  return [
    `## ${titleOf(path)}`,
    '',
    ...(schema.description === undefined ? [] : [schema.description, '']),
    ...(example === undefined ? [] : ['```yaml', example.trim(), '```', '']),
    ...table(['field', 'type', 'default', 'meaning'], rows),
  ]
}

/** Every field of a policy, from its schema. */
export function policyPage(): string {
  collect(root, '')
  const shown = Object.keys(policyExamples)
  const unknown = shown.filter((path) => !sections.some((section) => section.path === path))
  if (unknown.length > 0) throw new Error(`examples of what the schema does not have: ${unknown.join(', ')}`)
  // What is part of something else may be shown with that.
  const isShown = (path: string): boolean =>
    shown.some((known) => path === known || (known !== '' && path.startsWith(known)))
  const missing = sections.filter(({ path }) => !isShown(path)).map(({ path }) => path)
  if (missing.length > 0) throw new Error(`no example shows ${missing.join(', ')}`)
  return page([
    '# Policy fields',
    '',
    'Every field of a policy, with its type and its default. This page is made from the schema that checks policies. [Policies](../policies.md) explains how they work together.',
    '',
    'Your editor knows the same, with this as the first line of a policy:',
    '',
    '```yaml fields',
    '# yaml-language-server: $schema=node_modules/sluice/policy.schema.json',
    '```',
    '',
    'Durations are texts such as `500ms`, `30s`, `15m`, `1h30m` or `1d`. A field that begins with `x-` is yours: Sluice ignores it. `[]` stands for each entry of a list, and `*` for a name that you choose.',
    '',
    ...sections.flatMap(sectionOf),
  ])
}
