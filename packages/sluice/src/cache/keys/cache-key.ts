import { encodeKey, type KeyPart } from '../../core/key.ts'
import type { KeySpec } from './key-spec.ts'

/** What an invalidation may name: a key, the keys that share leading parts, or the entries that carry a tag. */
export type InvalidationTarget = CacheKey | KeyPrefix | Tag | Everything

/** One key of a cache. Only `defineKeys` and `loadKeys` make them, so a raw string cannot collide with another key. */
export class CacheKey {
  readonly spec: KeySpec
  readonly parts: readonly KeyPart[]
  /** As it is spelled in Redis, after the namespace: `price/XLM`. */
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

/** All keys of a name, or those whose first parts are these. */
export class KeyPrefix {
  readonly encoded: string

  constructor(spec: KeySpec, parts: readonly KeyPart[]) {
    this.encoded = parts.length === 0 ? `${spec.encodedName}/` : `${spec.encodedName}/${encodeKey(parts)}/`
  }

  get scope(): string {
    return `p:${this.encoded}`
  }
}

/** All entries of a cache. */
export interface Everything {
  readonly scope: 'p:'
}

/**
 * Represents all entries of a cache.
 *
 * @example await cache.invalidate(everything)
 */
export const everything: Everything = Object.freeze({ scope: 'p:' })

/** A label of entries that are invalidated together. */
export class Tag {
  readonly name: string
  readonly scope: string

  constructor(name: string) {
    this.name = name
    this.scope = tagScope(name)
  }
}

/**
 * Creates a tag, to invalidate every entry that carries it.
 *
 * @example await cache.invalidate(tag('assets'))
 */
export function tag(name: string): Tag {
  return new Tag(name)
}

export function tagScope(name: string): string {
  return `t:${encodeKey(name)}`
}

/** The scope of every entry. */
export const everythingScope = 'p:'

/** The prefixes that cover a key, from the widest: all, `price/`, `price/XLM/` for `price/XLM/1h`. */
export function prefixScopes(encoded: string): string[] {
  const scopes: string[] = [everythingScope]
  for (let at = encoded.indexOf('/'); at >= 0; at = encoded.indexOf('/', at + 1)) {
    scopes.push(`p:${encoded.slice(0, at + 1)}`)
  }
  return scopes.length > 1 ? scopes : [everythingScope, `p:${encoded}/`]
}
