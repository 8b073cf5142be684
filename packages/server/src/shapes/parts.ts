import * as z from 'zod'

/** The type of what a shape describes. Answers are made once and only read after that. */
export type Shape<T extends z.ZodType> = Frozen<z.infer<T>>
type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

export const text = z.string({ error: 'must be a text' })
export const flag = z.boolean({ error: 'must be true or false' })
export const count = z.int({ error: 'must be a whole number' }).min(0, { error: 'must be 0 or more' })
export const number = z.number()
export const time = text.meta({ format: 'date-time' })
export const textOrNull = text.nullable()
export const wholeOrNull = z.int().nullable()
export const numberOrNull = number.nullable()

/** An object without further fields. What is wrong with an input is said by its path and by this. */
export function object<Fields extends z.ZodRawShape>(fields: Fields, wanted = 'must be an object') {
  const known = Object.keys(fields).join(', ')
  const error: z.core.$ZodErrorMap = ({ code }) =>
    code === 'unrecognized_keys' ? `is not known; known are ${known}` : wanted
  return z.strictObject(fields, { error })
}
