import { invalidOption } from '../../core/errors.ts'
import { type DefinedKey, prefixScopes, tagScope } from '../keys/cache-key.ts'
import { type EntryRules, firstRule, parseTtl, type Ttl } from '../keys/key-spec.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Position } from '../protocol/messages.ts'
import { OversizedError } from '../values/codec.ts'
import { deepFreeze } from '../values/freeze.ts'
import { readCopy, writeCopy } from '../values/stored-copy.ts'
import type { StoredValue } from '../values/stored-value.ts'
import type { Entry } from './entry.ts'

/** What an entry costs besides its text: the objects that hold it. Measured by `npm run bench -- cache`, rounded up. */
const overheadBytes = 480
/** What a tag costs besides its text: a string and a place in an array. */
const tagBytes = 48
const unjudged = -1

/** What was fetched or set, and what is known of it. */
export interface MadeOf {
  readonly value: unknown
  /** The options of the call. */
  readonly rules: EntryRules | undefined
  readonly stamp: Position | undefined
  /** How long the fetch took; 0 for what a producer set. */
  readonly fetchMs: number
  readonly etag?: string | undefined
}

/** An entry, and how Redis should keep it. */
export interface Made {
  readonly entry: Entry
  readonly keepMs: number
  /** Writes the copy for Redis. */
  readonly write: () => string | Buffer
}

/**
 * Makes an entry of a value. The value is encoded and decoded, so that all callers get the same from either level:
 * equal types, and frozen. Undefined for what cannot be encoded or is too large; that is counted.
 */
export function makeEntry(
  key: DefinedKey,
  { value, rules, stamp, fetchMs, etag }: MadeOf,
  nowMs: number,
  options: ResolvedOptions,
  monitor: CacheMonitor,
): Made | undefined {
  const { codec, maxValueBytes, compressBytes } = options
  const { freshMs, staleMs, errorMs, tags } = keepingOf(key, value, rules, options)
  let size = tags.reduce((sum, tag) => sum + tag.length + 1, 3 * (etag?.length ?? 0))
  let text: string
  let copy: unknown
  try {
    text = codec.encode(value, maxValueBytes - size)
    size += Buffer.byteLength(text)
    if (size > maxValueBytes) throw new OversizedError()
    copy = deepFreeze(codec.decode(text))
  } catch (error) {
    monitor.skipped(key.spec.name, error instanceof OversizedError ? 'oversized' : 'unencodable')
    return undefined
  }
  const { generation, sequence = 0 } = stamp ?? {}
  const entry: Entry = {
    key: key.encoded,
    spec: key.spec,
    value: copy,
    bytes: size + 2 * key.encoded.length + tagBytes * tags.length + overheadBytes,
    scopes: [...prefixScopes(key.encoded), ...tags],
    generation,
    sequence,
    madeAtMs: nowMs,
    freshUntilMs: nowMs + freshMs,
    staleUntilMs: nowMs + staleMs,
    errorUntilMs: nowMs + errorMs,
    fetchMs,
    etag,
    failures: 0,
    retryAtMs: 0,
    id: 0,
    epoch: unjudged,
    scopeVersion: unjudged,
    uses: 1,
  }
  const stored = { generation, sequence, freshMs, staleMs, errorMs, fetchMs, etag, tags }
  return { entry, keepMs: errorMs, write: () => writeCopy(key.encoded, stored, text, compressBytes) }
}

/** How one value is to be kept: milliseconds from now, and the scopes of its tags. */
interface Keeping {
  readonly freshMs: number
  readonly staleMs: number
  readonly errorMs: number
  readonly tags: readonly string[]
}

function keepingOf(key: DefinedKey, value: unknown, own: EntryRules | undefined, options: ResolvedOptions): Keeping {
  const { spec } = key
  const rules = [own, spec.options, options.rules]
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
  const share = 1 - (first('jitter') ?? 0.1) * options.random()
  const freshMs = ttlMs === Infinity ? Infinity : Math.max(1, ttlMs * share)
  const tags = first('tags')
  const names = typeof tags === 'function' ? (tags as (value: unknown) => readonly string[])(value) : (tags ?? [])
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw invalidOption('tags', names, 'use an array of names')
  return {
    freshMs,
    staleMs: freshMs + (first('staleWhileRevalidateMs') ?? 0),
    errorMs: freshMs + Math.max(first('staleIfErrorMs') ?? 0, first('staleWhileRevalidateMs') ?? 0),
    tags: names.map(tagScope),
  }
}

/** Reads an entry from Redis. What is damaged, foreign or too large is a counted miss. */
export function readEntry(
  key: DefinedKey,
  stored: StoredValue,
  askedMs: number,
  { codec, maxValueBytes }: ResolvedOptions,
  monitor: CacheMonitor,
): Entry | undefined {
  const copy = readCopy(key.encoded, stored, codec, maxValueBytes)
  if (copy === undefined) {
    monitor.skipped(key.spec.name, 'damaged')
    return undefined
  }
  // Its age counts from when it was requested, so that it never looks younger than it is.
  const madeAtMs = askedMs - stored.ageMs
  const prefixes = key.prefixScopes
  // An object literal with the fields in the same order as above, for speed: this runs for every read from Redis.
  return {
    key: key.encoded,
    spec: key.spec,
    value: copy.value,
    bytes: stored.end - stored.start + 2 * key.encoded.length + tagBytes * copy.tags.length + overheadBytes,
    scopes: copy.tags.length === 0 ? prefixes : [...prefixes, ...copy.tags],
    generation: copy.generation,
    sequence: copy.sequence,
    madeAtMs,
    freshUntilMs: madeAtMs + copy.freshMs,
    staleUntilMs: madeAtMs + copy.staleMs,
    errorUntilMs: madeAtMs + copy.errorMs,
    fetchMs: copy.fetchMs,
    etag: copy.etag,
    failures: 0,
    retryAtMs: 0,
    id: stored.id,
    epoch: unjudged,
    scopeVersion: unjudged,
    uses: 1,
  }
}
