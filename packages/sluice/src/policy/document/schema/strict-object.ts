import * as z from 'zod'

/**
 * An object of known fields, and of fields that begin with `x-`, which belong to others and say nothing here. The
 * complaint about any other field is the list of the known ones; `schema-issues.ts` finds the nearest.
 */
export function strictObject<Shape extends z.core.$ZodShape>(
  shape: Shape,
  description: string,
): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(' ')
  const check = ({ value, issues }: z.core.ParsePayload): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    const keys = Object.keys(value).filter((key) => !Object.hasOwn(shape, key) && !key.startsWith('x-'))
    if (keys.length > 0)
      issues.push({ code: 'unrecognized_keys', keys, input: value as Record<string, unknown>, message: known })
  }
  return (
    z
      .looseObject(shape)
      // Also where other fields are wrong, so that one look lists all mistakes.
      .check({ _zod: { check, def: { check: 'custom', when: () => true }, onattach: [] } } as never)
      .describe(description) as unknown as z.ZodObject<Shape, z.core.$strict>
  )
}

/** For `z.toJSONSchema`: says of such objects what they refuse. */
export function describeStrict({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.properties === undefined || typeof jsonSchema.additionalProperties !== 'object') return
  jsonSchema.additionalProperties = false
  jsonSchema.patternProperties = { '^x-': {} }
}
