export type Schema = Readonly<Record<string, unknown>>

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

export const text: Schema = { type: 'string' }
export const flag: Schema = { type: 'boolean' }
export const count: Schema = { type: 'integer', minimum: 0 }
/** Units, or units by the names of rules. */
export const units: Schema = { oneOf: [count, { type: 'object', additionalProperties: count }] }
export const orNull = (type: string): Schema => ({ type: [type, 'null'] })
export const list = (items: Schema): Schema => ({ type: 'array', items })

/** An object whose fields are all there, unless they are named as optional. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
  more: Schema = {},
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...more,
  }
}
