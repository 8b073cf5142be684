import type { Duration } from '../core/duration.ts'
import type { CloseOptions, Part } from '../runtime/part.ts'
import type { CacheEvents } from './events.ts'
import type { CacheKey, InvalidationTarget } from './keys/cache-key.ts'
import type { EntryOptions } from './keys/key-spec.ts'
import type { CacheStats } from './stats.ts'

/** The argument of a fetch. */
export interface FetchContext {
  /**
   * Aborted when the fetch takes longer than its deadline, or the cache closes. Never by one caller: others may wait
   * too.
   */
  readonly signal: AbortSignal
  /** Whether the data was invalidated recently: read it from the primary, as a replica may not have the change yet. */
  readonly afterInvalidation: boolean
  /**
   * The value that would be returned if the fetch failed, for a conditional refresh: return it if it has not changed.
   */
  readonly stale: { readonly value: unknown; readonly etag: string | undefined; readonly ageMs: number } | undefined
  /** What the source calls this version of the value; kept with it, as `stale.etag` of the next fetch. */
  etag: string | undefined
  /** The value is returned, but not kept. */
  skip(): void
}

/** Fetches many keys at once; returns their values in the same order. */
export type FetchMany<T> = (
  keys: readonly CacheKey[],
  context: Pick<FetchContext, 'signal' | 'afterInvalidation'>,
) => Promise<readonly T[]> | readonly T[]

/** A value with its metadata. */
export interface CacheResult<T> {
  readonly value: T
  /** True where the value may be older than an invalidation, or is older than its TTL. */
  readonly stale: boolean
  /** How long ago it was fetched or set. */
  readonly ageMs: number
  /** How long it is fresh from now; 0 when stale, `Infinity` when it never expires. */
  readonly freshMs: number
  readonly from: 'memory' | 'redis' | 'fetch'
}

/** Options of one lookup. They override those of the key. */
export interface LookupOptions<T> extends EntryOptions<T> {
  /** Detaches this caller from the lookup. The fetch continues for the others, and for the cache. */
  readonly signal?: AbortSignal
  /** Fetches, whatever is cached. The value is kept for all others. */
  readonly forceFresh?: boolean
}

export interface InvalidateOptions {
  /**
   * `fast` resolves when Redis has it, and other processes follow within `proof`. `strict` resolves when no process
   * returns the old value as fresh any more, at most `proof` and a deadline later; rejects if Redis cannot be reached.
   */
  readonly mode?: 'fast' | 'strict'
  /** How many replicas must have the invalidation, so that a failover does not lose it. */
  readonly wait?: number
}

/** A key, prefix or tag, `everything`, a plain text for its key, or several of these. */
export type InvalidationTargets = InvalidationTarget | string | readonly (InvalidationTarget | string)[]

/** A read-through cache with two levels: this process, and Redis. */
export interface Cache extends Part<CacheEvents> {
  readonly name: string
  /**
   * The value of a key, from the nearest level that has it, otherwise from `fetch`. A plain text is a key too, in all
   * methods; then the call or the cache has to give the `ttl`.
   */
  getOrFetch<T>(
    key: CacheKey | string,
    fetch: (context: FetchContext) => Promise<T> | T,
    options?: LookupOptions<T>,
  ): Promise<T>
  /** As `getOrFetch`, with the age of the value and where it came from. */
  lookup<T>(
    key: CacheKey | string,
    fetch: (context: FetchContext) => Promise<T> | T,
    options?: LookupOptions<T>,
  ): Promise<CacheResult<T>>
  /**
   * The values of many keys, in their order. What no level has is fetched together: mostly by one call for every 1,000
   * keys, which counts as one fetch.
   */
  getOrFetchMany<T>(keys: readonly (CacheKey | string)[], fetch: FetchMany<T>, options?: LookupOptions<T>): Promise<T[]>
  /** What is cached under a key; undefined when nothing is. Never fetches. */
  get<T = unknown>(key: CacheKey | string): Promise<CacheResult<T> | undefined>
  /** What is cached under many keys, in their order: one round trip per Redis node. */
  getMany<T = unknown>(keys: readonly (CacheKey | string)[]): Promise<(CacheResult<T> | undefined)[]>
  /** Writes a value, for producers. Other processes see it within `proof`. */
  set<T>(key: CacheKey | string, value: T, options?: EntryOptions<T>): Promise<void>
  /** Writes many values. Rejects with the first error, when all others have ended. */
  setMany<T>(entries: Iterable<readonly [key: CacheKey | string, value: T]>, options?: EntryOptions<T>): Promise<void>
  /**
   * Makes a key, all keys with a prefix, or all entries with a tag invalid, in all processes. `sent` is false when
   * Redis could not be reached: this process applied it, the others receive it when Redis is back.
   */
  invalidate(target: InvalidationTargets, options?: InvalidateOptions): Promise<{ readonly sent: boolean }>
  /**
   * The same, but what was cached may still be returned, marked stale, if the fetch fails or takes longer than its soft
   * deadline.
   */
  expire(target: InvalidationTargets, options?: InvalidateOptions): Promise<{ readonly sent: boolean }>
  /**
   * Fetches the `top` most used keys again, `concurrency` at a time, with the fetchers that were passed to
   * `createCache`. `left` are keys that were skipped because the time (`within`) was up.
   */
  warm(options?: {
    readonly top?: number
    readonly within?: Duration
    readonly concurrency?: number
  }): Promise<{ readonly warmed: number; readonly failed: number; readonly left: number }>
  stats(): CacheStats
  /**
   * Ends fetches by their signals, those that are not done within the time: at once, if none is given. Keys that were
   * being fetched are free for other processes then.
   */
  close(options?: CloseOptions): Promise<void>
}
