import { encodeKey, type KeyPart } from '../../core/key.ts'
import type { KeySpec } from './key-spec.ts'

/** How many plain keys are cached, so that they need not be encoded again. */
const maxRecent = 2000
const recent = new Map<string, DefinedKey>()

/** What keys of plain texts have in common. No other name is empty, so they collide with no key of `defineKeys`. */
const plainSpec: KeySpec = { name: 'text', encodedName: '', prefixScopes: ['p:', 'p:/'], options: {} }

/** What an invalidation may name: a key, `keys.name.prefix(...)`, `tag(name)` or `everything`. */
export interface InvalidationTarget {
  readonly scope: string
}

/** One key of a cache. Only `defineKeys` makes them, so a raw string cannot collide with another key. */
export interface CacheKey extends InvalidationTarget {
  readonly parts: readonly KeyPart[]
  /** As it is spelled in Redis, after the namespace: `price/XLM`. */
  readonly encoded: string
}

/** A key with the definition of its name. */
export class DefinedKey implements CacheKey {
  readonly spec: KeySpec
  readonly parts: readonly KeyPart[]
  readonly encoded: string

  constructor(spec: KeySpec, parts: readonly KeyPart[]) {
    this.spec = spec
    this.parts = parts
    this.encoded = parts.length === 0 ? spec.encodedName : `${spec.encodedName}/${encodeKey(parts)}`
  }

  get scope(): string {
    return `k:${this.encoded}`
  }

  /** The prefixes that cover it. */
  get prefixScopes(): readonly string[] {
    return this.parts.length > 1 ? prefixScopes(this.encoded) : this.spec.prefixScopes
  }
}

/** The key that a text stands for, or the key itself. */
export function keyOf(given: CacheKey | string): DefinedKey {
  if (typeof given !== 'string') return given as DefinedKey
  const known = recent.get(given)
  if (known !== undefined) return known
  const made = new DefinedKey(plainSpec, [given])
  if (recent.size >= maxRecent) recent.clear()
  recent.set(given, made)
  return made
}

/** All keys of a name, or those whose first parts are these. */
export function prefixOf({ encodedName }: KeySpec, parts: readonly KeyPart[]): InvalidationTarget {
  return { scope: parts.length === 0 ? `p:${encodedName}/` : `p:${encodedName}/${encodeKey(parts)}/` }
}

/** The scope of every entry. */
export const everythingScope = 'p:'

/**
 * Represents all entries of a cache.
 *
 * @example await cache.invalidate(everything)
 */
export const everything: InvalidationTarget = Object.freeze({ scope: everythingScope })

/**
 * Represents every entry that carries a tag.
 *
 * @example await cache.invalidate(tag('assets'))
 */
export function tag(name: string): InvalidationTarget {
  return { scope: tagScope(name) }
}

export function tagScope(name: string): string {
  return `t:${encodeKey(name)}`
}

/** The prefixes that cover a key, from the widest: all, `price/`, `price/XLM/` for `price/XLM/1h`. */
export function prefixScopes(encoded: string): string[] {
  const scopes: string[] = [everythingScope]
  for (let at = encoded.indexOf('/'); at >= 0; at = encoded.indexOf('/', at + 1)) {
    scopes.push(`p:${encoded.slice(0, at + 1)}`)
  }
  return scopes.length > 1 ? scopes : [everythingScope, `p:${encoded}/`]
}
