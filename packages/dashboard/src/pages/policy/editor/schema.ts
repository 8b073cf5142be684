import { element, type Step } from './yaml-path.ts'

/** The parts of JSON Schema that the schema of policies uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

/** Something that can be written at a place. */
export interface Suggestion {
  readonly label: string
  readonly about: string
  /** Names are followed by their value in the same line, or by an indented block. */
  readonly holds: 'value' | 'block'
}

/** What a schema allows at a place of a document. */
export function suggestions(root: JsonSchema, path: readonly Step[], writes: 'name' | 'value'): readonly Suggestion[] {
  const here = path.reduce(
    (schemas, step) => schemas.flatMap((schema) => into(schema, step)).flatMap((schema) => forms(root, schema)),
    forms(root, root),
  )
  const found = here.flatMap((schema) => (writes === 'name' ? namesIn(root, schema) : valuesOf(schema)))
  return [...new Map(found.map((each) => [each.label, each])).values()]
}

function into(schema: JsonSchema, step: Step): readonly JsonSchema[] {
  if (step === element) return schema.items === undefined ? [] : [schema.items]
  const named = Object.hasOwn(schema.properties ?? {}, step) ? schema.properties?.[step] : undefined
  if (named !== undefined) return [named]
  return typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []
}

/** Every form a value may have. */
function forms(root: JsonSchema, schema: JsonSchema, depth = 0): readonly JsonSchema[] {
  if (depth > 8) return []
  const referred = schema.$ref === undefined ? undefined : resolve(root, schema.$ref)
  const others = [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
    ...(referred ? [referred] : []),
  ]
  return [schema, ...others.flatMap((each) => forms(root, each, depth + 1))]
}

function resolve(root: JsonSchema, ref: string): JsonSchema | undefined {
  let found: unknown = root
  for (const step of ref.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    found = (found as Record<string, unknown> | undefined)?.[step]
  }
  return found as JsonSchema | undefined
}

function namesIn(root: JsonSchema, { properties = {} }: JsonSchema): readonly Suggestion[] {
  return Object.entries(properties).map(([label, schema]) => {
    const all = forms(root, schema)
    const isScalar = all.some(
      ({ type, enum: choices }) => choices !== undefined || /string|integer|number|boolean/.test(String(type)),
    )
    const isBlock = !isScalar && all.some(({ type }) => type === 'object' || type === 'array')
    return {
      label,
      about: all.find(({ description }) => description)?.description ?? '',
      holds: isBlock ? 'block' : 'value',
    }
  })
}

function valuesOf(schema: JsonSchema): readonly Suggestion[] {
  const choices =
    schema.enum ?? (schema.const === undefined ? (schema.type === 'boolean' ? [true, false] : []) : [schema.const])
  return choices.map((value) => ({ label: String(value), about: schema.description ?? '', holds: 'value' }))
}
