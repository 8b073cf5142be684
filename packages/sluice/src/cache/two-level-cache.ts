import { invalidOption, SluiceError } from '../core/errors.ts'
import { type CloseOptions, closeInTime, closeWithinMs, type PartHealth } from '../runtime/part.ts'
import { untilAborted } from '../runtime/until-aborted.ts'
import type { Cache, CacheResult, FetchMany, InvalidateOptions, InvalidationTargets, LookupOptions } from './cache.ts'
import { Changes } from './changes.ts'
import type { CacheEvents } from './events.ts'
import { cached, type Fetch, type FromResult, type LookupResult } from './flights/flight.ts'
import { Flights } from './flights/flights.ts'
import { type CacheKey, DefinedKey, keyOf } from './keys/cache-key.ts'
import type { EntryOptions } from './keys/key-spec.ts'
import { type Entry, isEarly } from './l1/entry.ts'
import { L1 } from './l1/l1.ts'
import type { CacheLink } from './l2/cache-link.ts'
import { L2 } from './l2/l2.ts'
import { CacheMonitor } from './monitor.ts'
import { type ResolvedOptions, readLookup } from './options.ts'
import { inPortions } from './portions.ts'
import { readMany } from './read-many.ts'
import type { CacheStats } from './stats.ts'
import { warmUp } from './warm-up.ts'

/** How many keys are looked up at a time. */
const keysPerPortion = 1000

/**
 * The cache behind `createCache`. The way of one `getOrFetch`:
 *
 *     getOrFetch -> L1: fresh? -------------------------------------------------------> value
 *       | no
 *     Flights: one per key and process; others share its result
 *       |
 *     L2, Lookups: one call of Redis reads the copy, or takes the fill lock
 *       |- a copy: judged, kept in L1 ------------------------------------------------> value
 *       |- held by another process: FillLocks wait for its message "filled", then ask again
 *       |- locked
 *     Fill, Fetches: fetch -> judged, kept in L1 -------------------------------------> value
 *       |
 *     FillLock, Stores: store in Redis, end the lock, wake those who wait (nobody waits for this here)
 *
 * "Judged" means: compared with the invalidations that this process knows (`protocol/`). A value is fresh only while
 * Redis has confirmed less than `proofMs` ago that these are all (`l2/log-follower.ts`).
 */
export class TwoLevelCache implements Cache {
  readonly name: string
  readonly #options: ResolvedOptions
  readonly #monitor = new CacheMonitor()
  readonly #l1: L1
  readonly #l2: L2 | undefined
  readonly #flights: Flights
  readonly #changes: Changes
  /** Options that were checked by a hit, which does not use them. */
  readonly #checked = new WeakSet<object>()
  readonly #afterClose: (() => Promise<void>) | undefined
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: ResolvedOptions, link: CacheLink | undefined, afterClose?: () => Promise<void>) {
    this.name = options.name
    this.#afterClose = afterClose
    this.#options = options
    this.#l1 = new L1(options, link?.redis)
    this.#l2 = link && new L2(this.#l1, link, options, this.#monitor)
    this.#flights = new Flights(this.#l1, this.#l2, options, this.#monitor)
    this.#changes = new Changes(this.#l1, this.#l2, this.#flights, options, this.#monitor)
    if (this.#l2 !== undefined && options.warmUp !== undefined && Object.keys(options.fetchers).length > 0)
      this.#l2.log.onLost = (sameLog) => {
        if (!sameLog && !this.#closed) void this.warm()
      }
  }

  /** Contacts Redis once, so that the first lookup need not; a Redis that does not answer is not an error. */
  async ready(): Promise<void> {
    await this.#l2?.log.prove(this.#options.redisDeadlineMs)
  }

  getOrFetch<T>(given: CacheKey | string, fetch: Fetch<T>, options?: LookupOptions<T>): Promise<T> {
    try {
      const key = this.#keyOf(given)
      const entry = this.#fresh(key, fetch, options)
      if (entry !== undefined) return Promise.resolve(entry.value as T)
      return this.#below(key, fetch, options, this.#pickValue) as Promise<T>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  lookup<T>(given: CacheKey | string, fetch: Fetch<T>, options?: LookupOptions<T>): Promise<CacheResult<T>> {
    try {
      const key = this.#keyOf(given)
      const entry = this.#fresh(key, fetch, options)
      if (entry !== undefined) return Promise.resolve(this.#toResult(cached(entry, false, 'memory')))
      return this.#below(key, fetch, options, this.#pickResult) as Promise<CacheResult<T>>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async getOrFetchMany<T>(
    keys: readonly (CacheKey | string)[],
    fetch: FetchMany<T>,
    options?: LookupOptions<T>,
  ): Promise<T[]> {
    if (typeof fetch !== 'function') throw invalidOption('fetch', fetch, 'pass a function that reads the values')
    const group = this.#flights.group(fetch)
    const values: T[] = []
    for (const portion of inPortions(keys, keysPerPortion))
      values.push(
        ...(await Promise.all(portion.map((key) => this.getOrFetch(key, group.of(keyOf(key)) as Fetch<T>, options)))),
      )
    return values
  }

  async get<T = unknown>(key: CacheKey | string): Promise<CacheResult<T> | undefined> {
    const [answer] = await this.getMany<T>([key])
    return answer
  }

  async getMany<T = unknown>(given: readonly (CacheKey | string)[]): Promise<(CacheResult<T> | undefined)[]> {
    const keys = given.map((key) => this.#keyOf(key))
    const results = keys.map((key) => {
      const entry = this.#hit(key)
      return entry && cached(entry, false, 'memory')
    })
    const missing = keys.filter((_, index) => results[index] === undefined)
    const below = missing.length === 0 ? [] : await readMany(this.#l1, this.#l2, this.#options, missing)
    let next = 0
    return keys.map((key, index) => {
      const known = results[index]
      if (known !== undefined) return this.#toResult<T>(known)
      const read = below[next++]
      if (read !== undefined) return this.#toResult<T>(this.#counted(key, read))
      this.#monitor.missed(key.spec.name)
      return undefined
    })
  }

  async set<T>(key: CacheKey | string, value: T, options?: EntryOptions<T>): Promise<void> {
    return this.#changes.set(this.#keyOf(key), value, options as EntryOptions<never>)
  }

  async setMany<T>(
    entries: Iterable<readonly [key: CacheKey | string, value: T]>,
    options?: EntryOptions<T>,
  ): Promise<void> {
    const settled = await Promise.allSettled(Array.from(entries, ([key, value]) => this.set(key, value, options)))
    for (const each of settled) if (each.status === 'rejected') throw each.reason
  }

  async invalidate(target: InvalidationTargets, options: InvalidateOptions = {}): Promise<{ readonly sent: boolean }> {
    this.#assertOpen()
    return this.#changes.invalidate('invalidate', target, options)
  }

  async expire(target: InvalidationTargets, options: InvalidateOptions = {}): Promise<{ readonly sent: boolean }> {
    this.#assertOpen()
    return this.#changes.invalidate('expire', target, options)
  }

  async warm(options: Parameters<Cache['warm']>[0] = {}): ReturnType<Cache['warm']> {
    this.#assertOpen()
    return warmUp(options, this.#options, this.#l1, this.#monitor, (key, fetch) => {
      const known = this.#l1.entries.peek(key.encoded)
      return this.#flights.join(key, fetch, undefined, known, (_, result) => result.value)
    })
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#monitor.events.on(name, listener)
  }

  stats(): CacheStats {
    const { size: entries, bytes, evictions } = this.#l1.entries
    return {
      ...structuredClone(this.#monitor.count),
      memory: { entries, bytes, evictions },
      flights: this.#flights.size,
      redis: this.#l2 === undefined ? 'none' : this.#l2.isDown ? 'down' : 'up',
    }
  }

  async health(): Promise<PartHealth> {
    const reasons = this.#closed ? ['The cache is closed.'] : ((await this.#l2?.whyNotReady()) ?? [])
    return { ready: reasons.length === 0, reasons, warnings: this.#l2?.warnings() ?? [] }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const withinMs = closeWithinMs('cache.close', options)
    this.#closed = true
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  async #close(withinMs: number | undefined): Promise<void> {
    const { clock, redisDeadlineMs } = this.#options
    const endMs = clock.monotonic() + (withinMs ?? 0)
    if (withinMs !== undefined) await closeInTime(withinMs, clock)(this.#flights.idle())
    // Redis may be frozen, so the sockets are not waited for either.
    const leftMs = Math.max(0, Math.min(redisDeadlineMs, endMs - clock.monotonic()))
    const inTime = closeInTime(withinMs === undefined ? undefined : leftMs, clock)
    this.#l1.close()
    await inTime(this.#flights.close())
    await inTime(Promise.all([this.#l2?.close(), this.#afterClose?.()]))
  }

  /** A fresh entry of L1. This is the hot path: each clock is read once. */
  #hit(key: DefinedKey): Entry | undefined {
    const entry = this.#l1.entries.get(key.encoded)
    if (entry === undefined || !this.#l1.isFresh(entry)) return undefined
    entry.uses += 1
    this.#monitor.hit(key.spec.name, 'memory', false)
    return entry
  }

  /** The same for a lookup, whose arguments are checked although it does not need them. */
  #fresh<T>(key: DefinedKey, fetch: Fetch<T>, options: LookupOptions<T> | undefined): Entry | undefined {
    if (options?.forceFresh) return undefined
    const entry = this.#hit(key)
    if (entry === undefined) return undefined
    if (typeof fetch !== 'function' || (options !== undefined && !this.#checked.has(options))) {
      readLookup(fetch, options)
      if (options !== undefined) this.#checked.add(options)
    }
    if (options?.earlyRefresh ?? key.spec.options.earlyRefresh) this.#refreshEarly(key, fetch, options, entry)
    return entry
  }

  /** Looks below L1, or returns what L1 has as stale. */
  #below<T, Result>(
    key: DefinedKey,
    fetch: Fetch<T>,
    options: LookupOptions<T> | undefined,
    pick: FromResult<Result>,
  ): Promise<Result> {
    const signal = options?.signal
    const isForced = options?.forceFresh === true
    const rules = readLookup(fetch, options)
    signal?.throwIfAborted()
    const entry = this.#l1.entries.peek(key.encoded)
    const state = entry && this.#l1.stateOf(entry)
    // The source failed a moment ago, or is late.
    if (state !== undefined && state !== 'none' && !isForced && this.#l1.nowMs() < entry!.retryAtMs)
      return Promise.resolve(pick(key, cached(entry!, true, 'memory')))
    if (!isForced && (state === 'revalidate' || (state === 'unproven' && this.#l2?.isDown))) {
      if (state === 'revalidate') this.#flights.refresh(key, fetch, rules, entry!)
      else this.#flights.refreshUnproven(key, fetch, rules, entry!)
      return Promise.resolve(pick(key, cached(entry!, true, 'memory')))
    }
    const how = isForced ? 'fresh' : 'join'
    if (!signal) return this.#flights[how](key, fetch, rules, entry, pick)
    const looking = this.#flights[how](key, fetch, rules, entry, (_, result) => result)
    return untilAborted(looking, signal).then((result) => pick(key, result))
  }

  readonly #pickValue: FromResult<unknown> = (key, result) => this.#counted(key, result).value

  readonly #pickResult: FromResult<CacheResult<unknown>> = (key, result) => this.#toResult(this.#counted(key, result))

  #toResult<T>({ value, entry, stale, from }: LookupResult): CacheResult<T> {
    const nowMs = this.#l1.nowMs()
    const ageMs = entry ? Math.max(0, nowMs - entry.madeAtMs) : 0
    const freshMs = entry && !stale ? Math.max(0, entry.freshUntilMs - nowMs) : 0
    return { value: value as T, stale, ageMs, freshMs, from }
  }

  #counted(key: DefinedKey, result: LookupResult): LookupResult {
    if (result.from !== 'fetch') this.#monitor.hit(key.spec.name, result.from, result.stale)
    else if (result.stale) this.#monitor.count.staleServed += 1
    return result
  }

  #refreshEarly<T>(key: DefinedKey, fetch: Fetch<T>, options: LookupOptions<T> | undefined, entry: Entry): void {
    if (!isEarly(entry, this.#l1.nowMs(), this.#options.random)) return
    this.#flights.refresh(key, fetch, readLookup(fetch, options), entry)
  }

  /** The key; throws where it cannot be used now. */
  #keyOf(given: CacheKey | string): DefinedKey {
    const key = keyOf(given)
    if (!(key instanceof DefinedKey) || key.encoded === '/')
      throw invalidOption('key', given, 'use a text such as "user:42", or a key made by defineKeys: keys.price("XLM")')
    this.#assertOpen()
    return key
  }

  #assertOpen(): void {
    if (this.#closed) throw new SluiceError('SLUICE_CLOSED', 'The cache is closed; make a new one with createCache.')
  }
}
