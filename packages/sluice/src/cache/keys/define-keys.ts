import { invalidOption } from '../../core/errors.ts'
import { type KeyPart, maxPartLength } from '../../core/key.ts'
import { type CacheKey, DefinedKey, type InvalidationTarget, prefixOf } from './cache-key.ts'
import { type EntryOptions, type KeySpec, makeSpec } from './key-spec.ts'

/** How many keys of a name are cached, so that they need not be encoded again. */
const maxRecent = 2000

/** Makes the keys of one name. */
export interface KeyMaker<Names extends readonly string[] = readonly string[]> {
  /** Takes one part for each name, in the same order. */
  (...parts: { readonly [Index in keyof Names]: KeyPart }): CacheKey
  /** All keys whose first parts are these; all keys of the name when there are none. */
  prefix(...parts: readonly KeyPart[]): InvalidationTarget
}

/** The definition behind each maker. */
const specs = new WeakMap<object, KeySpec>()

/**
 * Defines one name of keys: its parts and how its entries are kept.
 *
 * @example const price = key('price', ['assetId'], { ttl: '60s' })
 */
export function key<const Names extends readonly string[], T = unknown>(
  name: string,
  parts: Names,
  options: EntryOptions<T> = {},
): KeyMaker<Names> {
  const spec = makeSpec(name, parts, options as EntryOptions<never>)
  const expected = `${parts.length} part${parts.length === 1 ? '' : 's'} (${parts.join(', ')})`
  const recent = new Map<string, DefinedKey>()
  const make = (...given: readonly KeyPart[]): DefinedKey => {
    if (given.length !== parts.length) throw invalidOption(`key ${name}`, given, `it takes exactly ${expected}`)
    const [only] = given
    if (given.length > 1 || typeof only !== 'string' || only.length > maxPartLength) return new DefinedKey(spec, given)
    // Encoding a key and hashing the text costs more than a hit, so those in use are cached.
    const known = recent.get(only)
    if (known !== undefined) return known
    const made = new DefinedKey(spec, given)
    if (recent.size >= maxRecent) recent.clear()
    recent.set(only, made)
    return made
  }
  const prefix = (...given: readonly KeyPart[]): InvalidationTarget => {
    if (given.length >= Math.max(1, parts.length))
      throw invalidOption(`prefix of key ${name}`, given, `give fewer than ${expected}, or invalidate the key itself`)
    return prefixOf(spec, given)
  }
  const maker = Object.assign(make, { prefix }) as KeyMaker<Names>
  specs.set(maker, spec)
  return maker
}

/**
 * Holds the keys of a service in one place and refuses two definitions of one name.
 *
 * @example
 * const keys = defineKeys({ price: key('price', ['assetId'], { ttl: '60s' }) })
 * keys.price('XLM')
 */
export function defineKeys<const Keys extends Readonly<Record<string, KeyMaker<never>>>>(keys: Keys): Keys {
  const seen = new Map<string, string>()
  for (const [field, maker] of Object.entries(keys)) {
    const name = specs.get(maker)?.encodedName
    if (name === undefined)
      throw invalidOption(`defineKeys.${field}`, maker, "use what key() returns, such as key('price', ['assetId'])")
    const other = seen.get(name)
    if (other !== undefined)
      throw invalidOption(`defineKeys.${field}`, name, `the name is already defined by ${other}; use another`)
    seen.set(name, field)
  }
  return Object.freeze(keys)
}
