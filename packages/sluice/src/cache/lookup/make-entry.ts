import type { CacheKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import type { StoredValue } from '../link/cache-link.ts'
import type { Position } from '../protocol/messages.ts'
import { deepFreeze } from '../values/freeze.ts'
import { readCopy, writeCopy } from '../values/stored-copy.ts'
import type { CacheCore } from './cache-core.ts'
import type { Entry } from './entry.ts'
import { keepingOf } from './rules.ts'

/** What an entry costs besides its text: the objects that hold it. Measured by `npm run bench -- cache`, rounded up. */
const overheadBytes = 480
const unjudged = -1

/** An entry, and how Redis should keep it. */
export interface Made {
  readonly entry: Entry
  readonly bytes: Buffer | undefined
  readonly keepMs: number
}

/**
 * Makes an entry of a value. The value is encoded and decoded, so that all callers get the same from either level:
 * equal types, and frozen. Undefined for what cannot be encoded or is too large; that is counted.
 */
export function makeEntry(
  core: CacheCore,
  key: CacheKey,
  value: unknown,
  rules: EntryRules | undefined,
  source: { readonly stamp: Position | undefined; readonly fetchMs: number },
): Made | undefined {
  const { codec, maxValueBytes, compressBytes } = core.options
  const keeping = keepingOf(key.spec, key.encoded, value, [rules, key.spec.options, core.options.rules], core.random)
  let text: string
  let copy: unknown
  try {
    text = codec.encode(value)
    copy = deepFreeze(codec.decode(text))
  } catch {
    skip(core, key, 'unencodable')
    return undefined
  }
  const size = Buffer.byteLength(text)
  if (size > maxValueBytes) {
    skip(core, key, 'oversized')
    return undefined
  }
  const { freshMs, staleMs, errorMs, scopes } = keeping
  const nowMs = core.nowMs()
  const { generation, sequence = 0 } = source.stamp ?? {}
  const entry: Entry = {
    key: key.encoded,
    spec: key.spec,
    value: copy,
    bytes: size + 2 * key.encoded.length + overheadBytes,
    scopes,
    generation,
    sequence,
    madeAtMs: nowMs,
    freshUntilMs: nowMs + freshMs,
    staleUntilMs: nowMs + staleMs,
    errorUntilMs: nowMs + errorMs,
    fetchMs: source.fetchMs,
    id: 0,
    era: unjudged,
    scopeVersion: unjudged,
    uses: 1,
  }
  const tags = scopes.filter((scope) => scope.startsWith('t:'))
  const stored = { generation, sequence, freshMs, staleMs, errorMs, fetchMs: source.fetchMs, tags }
  return { entry, keepMs: errorMs, bytes: core.redis && writeCopy(stored, text, compressBytes) }
}

/** Reads an entry from Redis. What is damaged, foreign or too large is a counted miss. */
export function readEntry(core: CacheCore, key: CacheKey, stored: StoredValue, askedMs: number): Entry | undefined {
  const copy = readCopy(stored, core.options.codec, core.options.maxValueBytes)
  if (copy === undefined) {
    skip(core, key, 'damaged')
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
    bytes: stored.end - stored.start + 2 * key.encoded.length + overheadBytes,
    scopes: copy.tags.length === 0 ? prefixes : [...prefixes, ...copy.tags],
    generation: copy.generation,
    sequence: copy.sequence,
    madeAtMs,
    freshUntilMs: madeAtMs + copy.freshMs,
    staleUntilMs: madeAtMs + copy.staleMs,
    errorUntilMs: madeAtMs + copy.errorMs,
    fetchMs: copy.fetchMs,
    id: stored.id,
    era: unjudged,
    scopeVersion: unjudged,
    uses: 1,
  }
}

function skip(core: CacheCore, key: CacheKey, reason: 'unencodable' | 'oversized' | 'damaged'): void {
  core.count.skipped[reason] += 1
  core.events.emit('skipped', { name: key.spec.name, reason })
}
