import { checkOptionNames } from '../../core/check-options.ts'
import type { Duration } from '../../core/duration.ts'
import { parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { encodeKey } from '../../core/key.ts'

/** How long a value is fresh: a duration, or `'forever'` for what never changes, such as a closed candle. */
export type Ttl = Duration | 'forever'

/** How the entries of a name, or of one call, are kept. */
export interface EntryOptions<T = unknown> {
  /** How long a value is fresh; `'forever'` for what never changes. Or a function that decides it by the value. */
  readonly ttl?: Duration | 'forever' | ((value: T) => Duration | 'forever')
  /** How long `null` and `undefined` are fresh; as long as other values when left out. */
  readonly negativeTtl?: Duration
  /** How long after its TTL a value is still returned, marked stale, while one caller fetches a new one. */
  readonly staleWhileRevalidate?: Duration
  /** How long after its TTL a value is answered, marked stale, when the fetch fails. */
  readonly staleIfError?: Duration
  /** How long a fetch may take; that of the cache when left out. */
  readonly fetchDeadline?: Duration
  /**
   * How long a caller waits for a fetch while there is a stale value that may be returned. The fetch goes on, and its
   * value is kept. Without it, until the fetch has ended.
   */
  readonly softDeadline?: Duration
  /**
   * How long the source is not asked again after a fetch failed, while there is a stale value that may be returned; 1 s
   * by default. It doubles with every failure in a row, up to 30 times as long.
   */
  readonly errorBackoff?: Duration
  /** Fetch before the TTL ends, at a random moment that comes earlier the longer a fetch takes. */
  readonly earlyRefresh?: boolean
  /** By how much a TTL is shortened at random, as a share of it; 0.1 by default. */
  readonly jitter?: number
  /** Tags of the entry, or a function that reads them from the value. */
  readonly tags?: readonly string[] | ((value: T) => readonly string[])
}

/** The definition of one name: what `key()` returns. */
export interface KeySpec {
  readonly name: string
  readonly encodedName: string
  /** The scopes that cover all of its keys: everything, and the name. */
  readonly prefixScopes: readonly string[]
  readonly options: EntryRules
}

/** Entry options, checked, with durations in milliseconds. */
export interface EntryRules {
  readonly ttl?: number | ((value: never) => unknown)
  readonly negativeTtlMs?: number
  readonly staleWhileRevalidateMs?: number
  readonly staleIfErrorMs?: number
  readonly fetchDeadlineMs?: number
  readonly softDeadlineMs?: number
  readonly errorBackoffMs?: number
  readonly earlyRefresh?: boolean
  readonly jitter?: number
  readonly tags?: readonly string[] | ((value: never) => readonly string[])
}

const durations = [
  ...(['negativeTtl', 'staleWhileRevalidate', 'staleIfError'] as const),
  ...(['fetchDeadline', 'softDeadline', 'errorBackoff'] as const),
]
const known = ['ttl', ...durations, 'earlyRefresh', 'jitter', 'tags']

/** Checks entry options once, where they are written. */
export function readEntryOptions(
  options: EntryOptions<never>,
  where: string,
  more: readonly string[] = [],
): EntryRules {
  checkOptionNames(where, options, [...known, ...more])
  const rules: Record<string, unknown> = {}
  const { ttl, jitter, tags, earlyRefresh } = options
  if (ttl !== undefined) rules.ttl = typeof ttl === 'function' ? ttl : parseTtl(ttl, `${where}.ttl`)
  for (const name of durations) {
    const value = options[name]
    if (value !== undefined) rules[`${name}Ms`] = parseDuration(value, `${where}.${name}`)
  }
  if (jitter !== undefined) {
    if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 0.5))
      throw invalidOption(`${where}.jitter`, jitter, 'use a share of the TTL from 0 to 0.5')
    rules.jitter = jitter
  }
  if (tags !== undefined) {
    if (typeof tags !== 'function' && !Array.isArray(tags))
      throw invalidOption(`${where}.tags`, tags, 'use an array of names, or a function that reads them from the value')
    rules.tags = tags
  }
  if (earlyRefresh !== undefined) rules.earlyRefresh = earlyRefresh === true
  return rules
}

/** Reads a TTL as milliseconds; `Infinity` for `'forever'`. */
export function parseTtl(ttl: Ttl, option: string): number {
  if (ttl === 'forever') return Number.POSITIVE_INFINITY
  const ms = parseDuration(ttl, option)
  if (ms === 0) throw invalidOption(option, ttl, 'use at least 1 ms, such as "60s", or "forever"')
  return ms
}

/** The first of some options that has one: those of a call override those of its key, and those the cache's. */
export function firstRule<Name extends keyof EntryRules>(
  rules: readonly (EntryRules | undefined)[],
  name: Name,
): EntryRules[Name] | undefined {
  for (const each of rules) if (each?.[name] !== undefined) return each[name]
  return undefined
}

export function makeSpec(name: string, parts: readonly string[], options: EntryOptions<never>): KeySpec {
  if (typeof name !== 'string' || name === '')
    throw invalidOption('key name', name, "use a text such as key('price', ['assetId'], { ttl: '60s' })")
  if (!Array.isArray(parts) || new Set(parts).size !== parts.length)
    throw invalidOption(`key(${JSON.stringify(name)}) parts`, parts, 'name each part once, in an array')
  const encodedName = encodeKey(name)
  return {
    name,
    encodedName,
    prefixScopes: ['p:', `p:${encodedName}/`],
    options: readEntryOptions(options, `key(${JSON.stringify(name)})`),
  }
}
