import { checkFunction, checkOptionNames, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import type { KeyPart } from '../core/key.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { FetchContext, LookupOptions } from './cache.ts'
import { type EntryOptions, type EntryRules, readEntryOptions } from './keys/key-spec.ts'
import { type Codec, taggedCodec } from './values/codec.ts'

/** How to fetch keys by their parts, by the names of keys. */
type Fetchers = Readonly<
  Record<string, (parts: readonly KeyPart[], context: FetchContext) => Promise<unknown> | unknown>
>

export interface CommonCacheOptions extends EntryOptions {
  /** Keeps the keys of this cache apart from those of another cache of the service. `default` when left out. */
  readonly name?: string
  /** Bounds of the first level; `false` disables it. */
  readonly memory?: { readonly maxEntries?: number; readonly maxBytes?: number } | false
  /** How long a fetch may take. 10 s by default. */
  readonly fetchDeadline?: Duration
  /** How many fetches of one name run at a time; 32 by default. */
  readonly maxFetches?: number
  /** How long a fetch may wait until it may start; 1 s by default. Then a stale value is returned, or an error. */
  readonly queueDeadline?: Duration
  /** How long Redis may take to answer; 100 ms by default. */
  readonly redisDeadline?: Duration
  /** How long a process may answer from memory without a check with Redis; 1 s by default. */
  readonly proof?: Duration
  /** How long the lock of a key that is being fetched outlives a process that died; 3 s by default. */
  readonly fillLock?: Duration
  /** Values larger than this many bytes are answered but not kept; 1 MiB by default. */
  readonly maxValueBytes?: number
  /** Values of at least this many bytes are compressed in Redis; never by default. */
  readonly compressBytes?: number
  /** How values are written as text. */
  readonly codec?: Codec
  /** For how long after an invalidation fetches are asked to read the primary; 10 s by default. */
  readonly replicaLag?: Duration
  /** How to fetch a key by its parts, per name, so that the most used keys can be fetched again after a wipe. */
  readonly fetchers?: Fetchers
  /** What is fetched again after a wipe; `false` for nothing. 100 keys in 2 minutes, 8 at a time, by default. */
  readonly warmUp?: { readonly top?: number; readonly within?: Duration; readonly concurrency?: number } | false
  /** Time, for tests. */
  readonly clock?: Clock
  /** Randomness, for tests. */
  readonly random?: () => number
}

export interface ResolvedOptions {
  readonly name: string
  readonly rules: EntryRules
  readonly memory: { readonly maxEntries: number; readonly maxBytes: number } | undefined
  readonly fetchDeadlineMs: number
  readonly maxFetches: number
  readonly queueDeadlineMs: number
  readonly redisDeadlineMs: number
  readonly proofMs: number
  readonly fillLockMs: number
  readonly maxValueBytes: number
  readonly compressBytes: number
  readonly codec: Codec
  readonly replicaLagMs: number
  readonly fetchers: Fetchers
  readonly warmUp: { readonly top: number; readonly withinMs: number; readonly concurrency: number } | undefined
  readonly clock: Clock
  readonly random: () => number
}

const cacheDefaults = Object.freeze({
  name: 'default',
  memory: Object.freeze({ maxEntries: 5000, maxBytes: 64 * 1024 * 1024 }),
  fetchDeadline: '10s',
  maxFetches: 32,
  queueDeadline: '1s',
  redisDeadline: '100ms',
  proof: '1s',
  fillLock: '3s',
  maxValueBytes: 1024 * 1024,
  replicaLag: '10s',
  warmUp: Object.freeze({ top: 100, within: '2m', concurrency: 8 }),
})

const own = [
  ...['redis', 'name', 'memory', 'fetchDeadline', 'maxFetches', 'queueDeadline', 'redisDeadline', 'proof', 'fillLock'],
  ...['maxValueBytes', 'compressBytes', 'codec', 'replicaLag', 'fetchers', 'warmUp', 'clock', 'random'],
]
const entry = [
  ...['ttl', 'negativeTtl', 'staleWhileRevalidate', 'staleIfError', 'softDeadline', 'errorBackoff', 'earlyRefresh'],
  ...['jitter', 'tags'],
] as readonly (keyof EntryOptions)[]

/** Checks the options of `createCache` and fills in the defaults, once. */
export function resolveOptions(options: CommonCacheOptions): ResolvedOptions {
  checkOptionNames('createCache', options, [...own, ...entry])
  const given = { ...cacheDefaults, ...options }
  const rules = readEntryOptions(
    Object.fromEntries(entry.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]))),
    'createCache',
  )
  const ms = (
    name: 'fetchDeadline' | 'queueDeadline' | 'redisDeadline' | 'proof' | 'fillLock' | 'replicaLag',
  ): number => {
    const parsed = parseDuration(given[name], `createCache.${name}`)
    if (name !== 'replicaLag') checkWhole(`createCache.${name}`, parsed, 1, 'milliseconds')
    return parsed
  }
  const whole = (name: string, value: number, what: string): number => {
    checkWhole(`createCache.${name}`, value, 1, what)
    return value
  }
  if (typeof given.name !== 'string' || given.name === '')
    throw invalidOption('createCache.name', given.name, 'use a text such as "prices"')
  const { codec = taggedCodec, fetchers = {} } = given
  if (typeof codec?.encode !== 'function' || typeof codec.decode !== 'function')
    throw invalidOption('createCache.codec', codec, 'pass { encode(value), decode(text) }')
  for (const [name, fetcher] of Object.entries(fetchers)) checkFunction(`createCache.fetchers.${name}`, fetcher)
  const memory = given.memory === false ? undefined : { ...cacheDefaults.memory, ...given.memory }
  if (memory) {
    checkOptionNames('createCache.memory', memory, ['maxEntries', 'maxBytes'])
    whole('memory.maxEntries', memory.maxEntries, 'entries')
    whole('memory.maxBytes', memory.maxBytes, 'bytes')
  }
  const warmUp = given.warmUp === false ? undefined : { ...cacheDefaults.warmUp, ...given.warmUp }
  if (warmUp) {
    checkOptionNames('createCache.warmUp', warmUp, ['top', 'within', 'concurrency'])
    whole('warmUp.top', warmUp.top, 'keys')
    whole('warmUp.concurrency', warmUp.concurrency, 'fetches')
  }
  return {
    name: given.name,
    rules,
    memory,
    fetchDeadlineMs: ms('fetchDeadline'),
    maxFetches: whole('maxFetches', given.maxFetches, 'fetches'),
    queueDeadlineMs: ms('queueDeadline'),
    redisDeadlineMs: ms('redisDeadline'),
    proofMs: ms('proof'),
    fillLockMs: ms('fillLock'),
    maxValueBytes: whole('maxValueBytes', given.maxValueBytes, 'bytes'),
    compressBytes: given.compressBytes === undefined ? Infinity : whole('compressBytes', given.compressBytes, 'bytes'),
    codec,
    replicaLagMs: ms('replicaLag'),
    fetchers,
    warmUp: warmUp && {
      top: warmUp.top,
      concurrency: warmUp.concurrency,
      withinMs: parseDuration(warmUp.within, 'createCache.warmUp.within'),
    },
    clock: given.clock ?? systemClock(),
    random: given.random ?? Math.random,
  }
}

/** Checks the arguments of a lookup and reads its options. */
export function readLookup<T>(fetch: unknown, options: LookupOptions<T> | undefined): EntryRules | undefined {
  if (typeof fetch !== 'function') throw invalidOption('fetch', fetch, 'pass a function that reads the value')
  if (options?.signal != null && typeof options.signal.throwIfAborted !== 'function')
    throw invalidOption('lookup.signal', options.signal, 'pass an AbortSignal')
  return options && readEntryOptions(options as LookupOptions<never>, 'lookup', ['signal', 'forceFresh'])
}
