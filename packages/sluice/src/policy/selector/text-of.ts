import type { RequestView } from '../request-view.ts'

/**
 * A value of a request as the text that names a subject: the sender chooses the type, so `1` and `"1"` are the same.
 * What cannot be part of a key (objects, arrays, NaN, empty text) is missing.
 */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (typeof value === 'number') return Number.isFinite(value) ? String(value === 0 ? 0 : value) : undefined
  return typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : undefined
}

/**
 * The same for a field that may come several times, such as `?a=1&a=1`: equal values are one. Handlers treat different
 * values differently, so these count as malformed.
 */
export function textOfRepeated(value: unknown): string | undefined {
  if (!Array.isArray(value)) return textOf(value)
  const first = textOf(value[0])
  return value.every((each) => textOf(each) === first) ? first : undefined
}

/** All texts of a field that comes several times. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(textOf).filter((text) => text !== undefined) : []
}

/** Whether a field is the value's own: what every object inherits is none of a request's. */
export type HasField = (value: object, name: string) => boolean

export const ownField: HasField = Object.hasOwn

/** The same, with what instances of a class have from it, such as the getter `id` of a database's documents. */
export const instanceField: HasField = (value, name) => name in value && !(name in Object.prototype)

/** Follows a path through a value; a getter that throws is a missing field. */
export function valueAt(from: unknown, path: readonly string[], has: HasField = ownField): unknown {
  let value = from
  try {
    for (const step of path) {
      if (typeof value !== 'object' || value === null || !has(value, step)) return undefined
      value = (value as Record<string, unknown>)[step]
    }
  } catch {
    return undefined
  }
  return value
}

/** The value of a part of a view that threw when it was read. */
export const unreadable: unique symbol = Symbol('unreadable')

/** A part of a request. A view may read lazily from its framework, so even its own fields can throw. */
export function partOfRequest(request: RequestView, name: keyof RequestView): unknown {
  try {
    return request[name]
  } catch {
    return unreadable
  }
}
