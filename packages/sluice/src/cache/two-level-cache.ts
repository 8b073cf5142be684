import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import { type CloseOptions, closeWithinMs, type PartHealth } from '../runtime/part.ts'
import { untilAborted } from '../runtime/until-aborted.ts'
import { withinTime } from '../runtime/within-time.ts'
import type { Cache, CacheResult, InvalidateOptions, LookupOptions } from './cache.ts'
import type { CacheEvents } from './events.ts'
import type { Fetch, FromResult, LookupResult } from './flights/flight.ts'
import { Flights } from './flights/flights.ts'
import { invalidateScopes, notConfirmed, readInvalidation } from './invalidate-scopes.ts'
import { DefinedKey, type InvalidationTarget } from './keys/cache-key.ts'
import { type EntryOptions, type EntryRules, readEntryOptions } from './keys/key-spec.ts'
import { type Entry, isEarly } from './l1/entry.ts'
import { L1 } from './l1/l1.ts'
import { makeEntry } from './l1/make-entry.ts'
import { L2 } from './l2/l2.ts'
import type { CacheLink } from './link/cache-link.ts'
import { readLookup, UnusedArguments } from './lookup-arguments.ts'
import { CacheMonitor } from './monitor.ts'
import type { ResolvedOptions } from './options.ts'
import { readMany } from './read-many.ts'
import type { CacheStats } from './stats.ts'
import { warmUp } from './warm-up.ts'

/**
 * The cache behind `createCache`. The way of one `getOrFetch`:
 *
 *     getOrFetch -> L1: fresh? -------------------------------------------------------> value
 *       | no
 *     Flights: one per key and process; others share its result
 *       |
 *     L2, one call of Redis: read the copy, or take the fill lock
 *       |- a copy: judged, kept in L1 ------------------------------------------------> value
 *       |- held by another process: wait for its message "filled", then ask again
 *       |- locked
 *     Fill: fetch -> judged, kept in L1 ----------------------------------------------> value
 *       |
 *     FillLock: store in Redis, end the lock, wake those who wait (nobody waits for this here)
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
  readonly #arguments = new UnusedArguments()
  readonly #afterClose: (() => Promise<void>) | undefined
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: ResolvedOptions, link: CacheLink | undefined, afterClose?: () => Promise<void>) {
    this.name = options.name
    this.#afterClose = afterClose
    this.#options = options
    this.#l1 = new L1(options, link)
    this.#l2 = link && new L2(this.#l1, link, options, this.#monitor)
    this.#flights = new Flights(this.#l1, this.#l2, options, this.#monitor)
    if (this.#l2 !== undefined && options.warmUp !== undefined && Object.keys(options.fetchers).length > 0)
      this.#l2.log.onLost = (sameLog) => {
        if (!sameLog && !this.#closed) void this.warm()
      }
  }

  /** Contacts Redis once, so that the first lookup need not; a Redis that does not answer is not an error. */
  async ready(): Promise<void> {
    await this.#l2?.log.prove(this.#options.redisDeadlineMs)
  }

  getOrFetch<T>(key: DefinedKey, fetch: Fetch<T>, options?: LookupOptions<T>): Promise<T> {
    const refused = this.#refusal(key)
    if (refused !== undefined) return Promise.reject(refused)
    const entry = this.#hit(key)
    if (entry !== undefined) {
      if (options !== undefined || typeof fetch !== 'function') {
        const wrong = this.#arguments.mistakeIn(fetch, options)
        if (wrong !== undefined) return Promise.reject(wrong)
      }
      if (options?.earlyRefresh ?? key.spec.options.earlyRefresh) this.#refreshEarly(key, fetch, options, entry)
      return Promise.resolve(entry.value as T)
    }
    return this.#below(key, fetch, options, this.#pickValue) as Promise<T>
  }

  lookup<T>(key: DefinedKey, fetch: Fetch<T>, options?: LookupOptions<T>): Promise<CacheResult<T>> {
    const refused = this.#refusal(key)
    if (refused !== undefined) return Promise.reject(refused)
    const entry = this.#hit(key)
    if (entry !== undefined) {
      if (options !== undefined || typeof fetch !== 'function') {
        const wrong = this.#arguments.mistakeIn(fetch, options)
        if (wrong !== undefined) return Promise.reject(wrong)
      }
      if (options?.earlyRefresh ?? key.spec.options.earlyRefresh) this.#refreshEarly(key, fetch, options, entry)
      return Promise.resolve(this.#toResult<T>(entry.value, entry, false, 'memory'))
    }
    return this.#below(key, fetch, options, this.#pickResult) as Promise<CacheResult<T>>
  }

  async get<T = unknown>(key: DefinedKey): Promise<CacheResult<T> | undefined> {
    const [answer] = await this.getMany<T>([key])
    return answer
  }

  async getMany<T = unknown>(keys: readonly DefinedKey[]): Promise<(CacheResult<T> | undefined)[]> {
    const answers = keys.map((key) => {
      this.#checkKey(key)
      const entry = this.#hit(key)
      return entry && this.#toResult<T>(entry.value, entry, false, 'memory')
    })
    const missing = keys.flatMap((_, index) => (answers[index] === undefined ? [index] : []))
    if (missing.length === 0) return answers
    const below = missing.map((index) => keys[index]!)
    for (const [at, read] of (await readMany(this.#l1, this.#l2, this.#options, below)).entries()) {
      if (read === undefined) {
        this.#monitor.count.misses += 1
        continue
      }
      const { entry, stale, from } = read
      this.#monitor.hit(below[at]!.spec.name, from, stale)
      answers[missing[at]!] = this.#toResult<T>(entry.value, entry, stale, from)
    }
    return answers
  }

  async set<T>(key: DefinedKey, value: T, options?: EntryOptions<T>): Promise<void> {
    this.#checkKey(key)
    const rules = options && readEntryOptions(options as never, 'set')
    const l1 = this.#l1
    const source = { value, rules, stamp: undefined, fetchMs: 0 }
    const made = makeEntry(key, source, l1.nowMs(), this.#options, this.#monitor)
    if (made === undefined) {
      throw new SluiceError('SLUICE_INVALID_OPTION', `the value of ${key.spec.name} cannot be cached, or is too large`)
    }
    const { entry } = made
    const { message, id } = this.#l2
      ? await this.#l2.set(key.encoded, made.write(), made.keepMs).catch((error) => {
          throw notConfirmed(`set ${key.spec.name}`, error)
        })
      : { message: this.#l1.invalidateAlone([key.scope]), id: 0 }
    Object.assign(entry, { generation: message.generation, sequence: message.sequence, id })
    // An invalidation that was rejected meanwhile is later than this set.
    const validity = l1.view.judge(entry)
    if (validity === 'valid' && !this.#l2?.isUnsent(entry)) l1.keep(entry, validity)
  }

  async invalidate(
    target: InvalidationTarget | readonly InvalidationTarget[],
    options: InvalidateOptions = {},
  ): Promise<{ readonly sent: boolean }> {
    const request = readInvalidation(target, options)
    if (this.#closed) throw closed()
    return request.scopes.length === 0
      ? { sent: true }
      : invalidateScopes(
          { options: this.#options, monitor: this.#monitor, l1: this.#l1, l2: this.#l2, flights: this.#flights },
          request,
        )
  }

  async warm(options: Parameters<Cache['warm']>[0] = {}): ReturnType<Cache['warm']> {
    checkOptionNames('warm', options, ['top', 'within', 'concurrency'])
    if (this.#closed) throw closed()
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
    return { ready: reasons.length === 0, reasons, warnings: [] }
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
    const { clock } = this.#options
    if (withinMs !== undefined)
      await withinTime(this.#flights.idle(), { ms: withinMs, clock, late: () => undefined }).catch(() => undefined)
    this.#l1.close()
    await this.#flights.close()
    await this.#l2?.close()
    await this.#afterClose?.()
  }

  /** A fresh entry of L1. This is the hot path: each clock is read once. */
  #hit(key: DefinedKey): Entry | undefined {
    const entry = this.#l1.entries.get(key.encoded)
    if (entry === undefined || !this.#l1.isFresh(entry)) return undefined
    entry.uses += 1
    this.#monitor.hit(key.spec.name, 'memory', false)
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
    let rules: EntryRules | undefined
    try {
      rules = readLookup(fetch, options)
      signal?.throwIfAborted()
    } catch (error) {
      return Promise.reject(error)
    }
    const entry = this.#l1.entries.peek(key.encoded)
    const state = entry && this.#l1.stateOf(entry)
    if (state === 'revalidate' || (state === 'unproven' && this.#l2?.isDown)) {
      if (state === 'revalidate') this.#flights.refresh(key, fetch, rules, entry!)
      else this.#flights.refreshUnproven(key, fetch, rules, entry!)
      return Promise.resolve(pick(key, { value: entry!.value, stale: true, from: 'memory', entry }))
    }
    if (!signal) return this.#flights.join(key, fetch, rules, entry, pick)
    const looking = this.#flights.join(key, fetch, rules, entry, (_, result) => result)
    return untilAborted(looking, signal).then((result) => pick(key, result))
  }

  readonly #pickValue: FromResult<unknown> = (key, result) => this.#counted(key, result).value

  readonly #pickResult: FromResult<CacheResult<unknown>> = (key, result) => {
    const { value, entry, stale, from } = this.#counted(key, result)
    return this.#toResult(value, entry, stale, from)
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

  #toResult<T>(value: unknown, entry: Entry | undefined, stale: boolean, from: CacheResult<T>['from']): CacheResult<T> {
    const nowMs = this.#l1.nowMs()
    const ageMs = entry ? Math.max(0, nowMs - entry.madeAtMs) : 0
    return {
      value: value as T,
      stale,
      ageMs,
      freshMs: entry && !stale ? Math.max(0, entry.freshUntilMs - nowMs) : 0,
      from,
    }
  }

  #checkKey(key: DefinedKey): void {
    const refused = this.#refusal(key)
    if (refused !== undefined) throw refused
  }

  /** Why this key cannot be used now, if it cannot. */
  #refusal(key: DefinedKey): SluiceError | undefined {
    if (!(key instanceof DefinedKey))
      return invalidOption('key', key, 'use a key made by defineKeys, such as keys.price("XLM")')
    return this.#closed ? closed() : undefined
  }
}

function closed(): SluiceError {
  return new SluiceError('SLUICE_CLOSED', 'The cache is closed; make a new one with createCache.')
}
