/** Writes values as text and reads them back. A custom codec is these two functions. */
export interface Codec {
  /** Throws on a value that `decode` could not restore, and may throw on one whose text has more than `maxBytes`. */
  encode(value: unknown, maxBytes?: number): string
  decode(text: string): unknown
}

/** Thrown by `encode` for a value that could not be restored; the value is then returned but not cached. */
export class UnencodableError extends TypeError {
  override readonly name = 'UnencodableError'
}

/** Thrown by `encode` for a value that is too large, before its text is made. */
export class OversizedError extends RangeError {
  override readonly name = 'OversizedError'
}

/** How many characters a text may still have. Counts no more than what is written: what fits is never refused. */
class Room {
  #left: number

  constructor(maxBytes: number) {
    this.#left = maxBytes
  }

  take(characters: number): void {
    this.#left -= characters
    if (this.#left < 0) throw new OversizedError('the value is larger than maxValueBytes')
  }
}

const tagField = '$'
const maxDepth = 500

/**
 * JSON, with tags for what JSON loses: Date, Map, Set, BigInt, Buffer, undefined, NaN, infinities and -0. Text that
 * starts with `j` is plain JSON, which is the common case and the fast one; text that starts with `t` has tags, written
 * `{"$":[kind, content]}`.
 */
export const taggedCodec: Codec = {
  encode(value, maxBytes = Number.POSITIVE_INFINITY) {
    if (isPlain(value, 0, new Room(maxBytes))) return `j${JSON.stringify(value)}`
    return `t${JSON.stringify(tagged(value, 0, new Room(maxBytes)))}`
  },
  decode(text) {
    const kind = text.charCodeAt(0)
    if (kind !== 106 && kind !== 116) throw new SyntaxError('not a value of the tagged codec')
    const parsed: unknown = JSON.parse(text.slice(1))
    return kind === 106 ? parsed : untagged(parsed)
  },
}

/** Whether JSON restores exactly this value. */
function isPlain(value: unknown, depth: number, room: Room): boolean {
  room.take(typeof value === 'string' ? value.length + 2 : 1)
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || depth > maxDepth) return false
  if (Array.isArray(value)) {
    if (Object.getPrototypeOf(value) !== Array.prototype || 'toJSON' in value) return false
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth + 1, room)) return false
    return true
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const name in value) {
    room.take(name.length + 3)
    if (name === 'toJSON' || !isPlain((value as never)[name], depth + 1, room)) return false
  }
  return true
}

function tagged(value: unknown, depth: number, room: Room): unknown {
  room.take(typeof value === 'string' ? value.length + 2 : 1)
  if (depth > maxDepth) throw new UnencodableError(`nested deeper than ${maxDepth} levels, or circular`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : wrap('n', Object.is(value, -0) ? '-0' : `${value}`)
    case 'bigint':
      return wrap('i', `${value}`)
    case 'undefined':
      return wrap('u', 0)
    case 'object':
      return value === null ? null : taggedObject(value, depth, room)
    default:
      throw new UnencodableError(`a ${typeof value} cannot be cached`)
  }
}

function taggedObject(value: object, depth: number, room: Room): unknown {
  const inner = (item: unknown) => tagged(item, depth + 1, room)
  const prototype = Object.getPrototypeOf(value)
  if (Array.isArray(value) && prototype === Array.prototype) {
    for (let i = 0; i < value.length; i++)
      if (!(i in value)) throw new UnencodableError('an array with holes cannot be cached')
    return value.map(inner)
  }
  const wrapped = prototype !== Object.prototype && wrappedObject(value, prototype, inner, room)
  if (wrapped) return wrapped
  if (prototype !== Object.prototype && prototype !== null)
    throw new UnencodableError(`a ${value.constructor?.name ?? 'class instance'} cannot be cached; cache plain data`)
  const copy: Record<string, unknown> = Object.create(null)
  for (const [name, item] of Object.entries(value)) copy[name] = inner(item)
  // A plain object that has our tag's name as a field, or a toJSON that JSON.stringify would call, is written as pairs.
  return tagField in copy || 'toJSON' in copy ? wrap('o', Object.entries(copy)) : copy
}

/** What is not written as it is. Of exactly these classes: fields and methods of others could not be restored. */
function wrappedObject(
  value: object,
  prototype: unknown,
  inner: (item: unknown) => unknown,
  room: Room,
): object | undefined {
  if (prototype === Buffer.prototype || prototype === Uint8Array.prototype) {
    const { buffer, byteOffset, byteLength } = value as Uint8Array
    room.take(byteLength)
    const text = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
    return wrap(prototype === Buffer.prototype ? 'b' : 'a', text)
  }
  if (Object.keys(value).length > 0) return undefined
  if (prototype === Date.prototype) {
    const time = (value as Date).getTime()
    return wrap('d', Number.isNaN(time) ? null : time)
  }
  if (prototype === Set.prototype) return wrap('s', Array.from(value as Set<unknown>, inner))
  if (prototype !== Map.prototype) return undefined
  const pairs = Array.from(value as Map<unknown, unknown>, ([key, item]) => [inner(key), inner(item)])
  return wrap('m', pairs)
}

const wrap = (kind: string, content: unknown) => ({ [tagField]: [kind, content] })

function untagged(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(untagged)
  if (Object.hasOwn(value, tagField)) return unwrap((value as Record<string, unknown>)[tagField])
  return fromPairs(Object.entries(value))
}

/** Makes own properties only: a field named `__proto__` is data like any other. */
function fromPairs(pairs: readonly (readonly [string, unknown])[]): object {
  const copy = {}
  for (const [name, item] of pairs)
    Object.defineProperty(copy, name, { value: untagged(item), writable: true, enumerable: true, configurable: true })
  return copy
}

function unwrap(content: unknown): unknown {
  if (!Array.isArray(content) || content.length !== 2) throw new SyntaxError('a damaged tag')
  const [kind, data] = content as [unknown, never]
  switch (kind) {
    case 'n':
      return Number(data)
    case 'i':
      return BigInt(data)
    case 'u':
      return undefined
    case 'd':
      return new Date(data ?? Number.NaN)
    case 'm':
      return new Map((data as [unknown, unknown][]).map(([key, item]) => [untagged(key), untagged(item)]))
    case 's':
      return new Set((data as unknown[]).map(untagged))
    case 'b':
      return Buffer.from(data, 'base64')
    case 'a':
      return new Uint8Array(Buffer.from(data, 'base64'))
    case 'o':
      return fromPairs(data)
    default:
      throw new SyntaxError('an unknown tag')
  }
}
