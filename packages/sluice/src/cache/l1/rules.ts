import { invalidOption } from '../../core/errors.ts'
import { prefixScopes, tagScope } from '../keys/cache-key.ts'
import type { EntryRules, KeySpec } from '../keys/key-spec.ts'
import { parseTtl, type Ttl } from '../keys/ttl.ts'

/** How one value is to be kept: milliseconds from now, and its scopes. */
export interface Keeping {
  readonly freshMs: number
  readonly staleMs: number
  readonly errorMs: number
  readonly scopes: readonly string[]
  /** Those of its scopes that are tags. */
  readonly tags: readonly string[]
}

/** The options of a call, of its key and of the cache, in this order: the first that has an option decides. */
export type RuleList = readonly (EntryRules | undefined)[]

export function firstRule<Name extends keyof EntryRules>(rules: RuleList, name: Name): EntryRules[Name] | undefined {
  for (const each of rules) if (each?.[name] !== undefined) return each[name]
  return undefined
}

/** Decides how to keep a value: the options of the call override those of the key, and those override the cache's. */
export function keepingOf(
  spec: KeySpec,
  encoded: string,
  value: unknown,
  rules: RuleList,
  random: () => number,
): Keeping {
  const first = <Name extends keyof EntryRules>(name: Name): EntryRules[Name] | undefined => firstRule(rules, name)
  const negativeMs = value === null || value === undefined ? first('negativeTtlMs') : undefined
  const ttl = first('ttl')
  if (ttl === undefined && negativeMs === undefined)
    throw invalidOption(
      `key(${JSON.stringify(spec.name)}).ttl`,
      undefined,
      'say how long a value is fresh, such as "60s"',
    )
  const ttlMs =
    negativeMs ?? (typeof ttl === 'function' ? parseTtl((ttl as (value: unknown) => Ttl)(value), 'ttl') : ttl!)
  // Only ever shorter: no value is fresh for longer than configured.
  const freshMs = ttlMs === Infinity ? Infinity : Math.max(1, ttlMs * (1 - (first('jitter') ?? 0.1) * random()))
  const tags = first('tags')
  const names = typeof tags === 'function' ? (tags as (value: unknown) => readonly string[])(value) : (tags ?? [])
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw invalidOption('tags', names, 'use an array of names')
  const tagScopes = names.map(tagScope)
  return {
    freshMs,
    staleMs: freshMs + (first('staleWhileRevalidateMs') ?? 0),
    errorMs: freshMs + Math.max(first('staleIfErrorMs') ?? 0, first('staleWhileRevalidateMs') ?? 0),
    scopes: [...prefixScopes(encoded), ...tagScopes],
    tags: tagScopes,
  }
}
