import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import type {
  Answer,
  Cache,
  Fetch,
  InvalidateOptions,
  InvalidationReceipt,
  LookupOptions,
  SetOptions,
  WarmOptions,
  WarmResult,
} from './cache.ts'
import type { CacheEvents } from './events.ts'
import { detachable } from './flights/detachable.ts'
import { Flights } from './flights/flights.ts'
import type { FromLanded, Landed } from './flights/in-flight.ts'
import { CacheKey, type InvalidationTarget } from './keys/cache-key.ts'
import { type EntryRules, readEntryOptions } from './keys/key-spec.ts'
import type { CacheLink } from './link/cache-link.ts'
import { CacheCore } from './lookup/cache-core.ts'
import { type Entry, isEarly } from './lookup/entry.ts'
import { invalidateScopes, notConfirmed, readInvalidation } from './lookup/invalidate-scopes.ts'
import { keepEntry, levelOf, takeStored } from './lookup/keep-entry.ts'
import { makeEntry } from './lookup/make-entry.ts'
import { readLookup } from './lookup/read-lookup.ts'
import { warmUp } from './lookup/warm-up.ts'
import type { ResolvedOptions } from './options.ts'
import type { CacheStats } from './stats.ts'

/** The cache behind `createCache`. */
export class TwoLevelCache implements Cache {
  readonly namespace: string
  readonly #core: CacheCore
  readonly #flights: Flights
  readonly #checked = new WeakSet<object>()

  constructor(options: ResolvedOptions, link: CacheLink | undefined) {
    this.namespace = options.namespace
    this.#core = new CacheCore(options, link)
    this.#flights = new Flights(this.#core)
    this.#core.onLost = (sameLog) => {
      if (!sameLog && options.warmUp !== undefined && Object.keys(options.fetchers).length > 0) void this.warm()
    }
  }

  /** Contacts Redis once, so that the first lookup need not; a Redis that does not answer is not an error. */
  async ready(): Promise<void> {
    await this.#core.redis?.prove(this.#core.options.redisDeadlineMs)
  }

  getOrFetch<T>(key: CacheKey, fetch: Fetch<T>, options?: LookupOptions<T>): Promise<T> {
    const refused = this.#refusal(key)
    if (refused !== undefined) return Promise.reject(refused)
    const entry = this.#hit(key)
    if (entry !== undefined) {
      if (options !== undefined || typeof fetch !== 'function') {
        const wrong = this.#mistakeIn(fetch, options)
        if (wrong !== undefined) return Promise.reject(wrong)
      }
      if (options?.earlyRefresh ?? key.spec.options.earlyRefresh) this.#refreshEarly(key, fetch, options, entry)
      return Promise.resolve(entry.value as T)
    }
    return this.#below(key, fetch, options, this.#pickValue) as Promise<T>
  }

  lookup<T>(key: CacheKey, fetch: Fetch<T>, options?: LookupOptions<T>): Promise<Answer<T>> {
    const refused = this.#refusal(key)
    if (refused !== undefined) return Promise.reject(refused)
    const entry = this.#hit(key)
    if (entry !== undefined) {
      if (options !== undefined || typeof fetch !== 'function') {
        const wrong = this.#mistakeIn(fetch, options)
        if (wrong !== undefined) return Promise.reject(wrong)
      }
      if (options?.earlyRefresh ?? key.spec.options.earlyRefresh) this.#refreshEarly(key, fetch, options, entry)
      return Promise.resolve(this.#answer<T>(entry.value, entry, false, 'memory'))
    }
    return this.#below(key, fetch, options, this.#pickAnswer) as Promise<Answer<T>>
  }

  async get<T = unknown>(key: CacheKey): Promise<Answer<T> | undefined> {
    const [answer] = await this.getMany<T>([key])
    return answer
  }

  async getMany<T = unknown>(keys: readonly CacheKey[]): Promise<(Answer<T> | undefined)[]> {
    const core = this.#core
    const answers = keys.map((key) => {
      this.#checkKey(key)
      const entry = this.#hit(key)
      return entry && this.#answer<T>(entry.value, entry, false, 'memory')
    })
    const { redis } = core
    const endMs = core.clock.monotonic() + core.options.redisDeadlineMs
    const missing = keys.flatMap((_, index) => (answers[index] === undefined ? [index] : []))
    if (missing.length === 0) return answers
    if (redis !== undefined) {
      const proof = redis.prove(core.options.redisDeadlineMs)
      if (proof !== true) await proof
    }
    const mark = core.mark()
    const leftMs = endMs - core.clock.monotonic()
    const read = missing.map((index) => keys[index]!.encoded)
    const replies = await redis?.ask((link, withinMs) => link.read(read, withinMs), leftMs)
    for (const [at, index] of missing.entries()) {
      const key = keys[index]!
      const stored = replies?.[at]
      const entry = (stored && takeStored(core, key, stored, mark)) ?? core.memory.peek(key.encoded)
      const standing = entry && core.standing(entry)
      if (standing === undefined || standing === 'none') {
        core.count.misses += 1
        continue
      }
      const level = levelOf(entry!, stored)
      this.#countHit(key, level, standing !== 'fresh')
      answers[index] = this.#answer<T>(entry!.value, entry, standing !== 'fresh', level)
    }
    return answers
  }

  async set<T>(key: CacheKey, value: T, options?: SetOptions<T>): Promise<void> {
    this.#checkKey(key)
    const core = this.#core
    const rules = options && readEntryOptions(options as never, 'set')
    const { redis } = core
    const made = makeEntry(core, key, value, rules, { stamp: undefined, fetchMs: 0 })
    if (made === undefined) {
      throw new SluiceError('SLUICE_INVALID_OPTION', `the value of ${key.spec.name} cannot be cached, or is too large`)
    }
    const { entry, bytes, keepMs } = made
    const { message, id } = redis
      ? await redis.set(key.encoded, bytes!, keepMs).catch((error) => {
          throw notConfirmed(`set ${key.spec.name}`, error)
        })
      : { message: core.invalidateAlone([key.scope]), id: 0 }
    Object.assign(entry, { generation: message.generation, sequence: message.sequence, id })
    // An invalidation that was rejected meanwhile is later than this set.
    const verdict = core.view.judge(entry)
    if (verdict === 'current' && !redis?.isUnsent(entry.key, entry.scopes)) keepEntry(core, entry, verdict)
  }

  async invalidate(
    target: InvalidationTarget | readonly InvalidationTarget[],
    options: InvalidateOptions = {},
  ): Promise<InvalidationReceipt> {
    const request = readInvalidation(target, options)
    if (this.#core.isClosed) throw closed()
    return request.scopes.length === 0 ? { sent: true } : invalidateScopes(this.#core, this.#flights, request)
  }

  async warm(options: WarmOptions = {}): Promise<WarmResult> {
    checkOptionNames('warm', options, ['top', 'within', 'concurrency'])
    return warmUp(this.#core, options, (key, fetch) =>
      this.#flights.join(key, fetch, undefined, this.#core.memory.peek(key.encoded), (_, landed) => landed.value),
    )
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#core.events.on(name, listener)
  }

  stats(): CacheStats {
    const { count, memory, redis } = this.#core
    const { size: entries, bytes, evictions } = memory
    return {
      ...structuredClone(count),
      memory: { entries, bytes, evictions },
      flights: this.#flights.size,
      redis: redis?.state ?? 'none',
    }
  }

  async close(): Promise<void> {
    const core = this.#core
    core.close()
    await this.#flights.ended()
    // The keys that were being fetched are free for other processes at once.
    await Promise.all(core.sending)
    await core.redis?.close()
  }

  /** A fresh entry of the first level. This is the hot path: each clock is read once. */
  #hit(key: CacheKey): Entry | undefined {
    const core = this.#core
    const entry = core.memory.get(key.encoded)
    if (entry === undefined || !core.isFresh(entry)) return undefined
    entry.uses += 1
    core.count.hits.memory += 1
    if (core.events.has('hit')) core.events.emit('hit', { name: key.spec.name, level: 'memory', stale: false })
    return entry
  }

  /** Looks below the first level, or returns what it has as stale. */
  #below<T, Result>(
    key: CacheKey,
    fetch: Fetch<T>,
    options: LookupOptions<T> | undefined,
    pick: FromLanded<Result>,
  ): Promise<Result> {
    const core = this.#core
    const signal = options?.signal
    let rules: EntryRules | undefined
    try {
      rules = readLookup(fetch, options)
      signal?.throwIfAborted()
    } catch (error) {
      return Promise.reject(error)
    }
    const entry = core.memory.peek(key.encoded)
    const standing = entry && core.standing(entry)
    if (standing === 'revalidate' || (standing === 'unproven' && core.redis?.state === 'down')) {
      if (standing === 'revalidate') this.#flights.refresh(key, fetch, rules, entry!)
      else this.#flights.refreshUnproven(key, fetch, rules, entry!)
      return Promise.resolve(pick(key, { value: entry!.value, stale: true, from: 'memory', entry }))
    }
    if (!signal) return this.#flights.join(key, fetch, rules, entry, pick)
    const landing = this.#flights.join(key, fetch, rules, entry, (_, landed) => landed)
    return detachable(landing, signal).then((landed) => pick(key, landed))
  }

  /** The error in the arguments of a lookup that does not use them, if any. Options are checked once per object. */
  #mistakeIn<T>(fetch: Fetch<T>, options: LookupOptions<T> | undefined): unknown {
    if (typeof fetch === 'function' && (options === undefined || this.#checked.has(options))) return undefined
    try {
      readLookup(fetch, options)
    } catch (error) {
      return error
    }
    if (options !== undefined) this.#checked.add(options)
    return undefined
  }

  readonly #pickValue: FromLanded<unknown> = (key, landed) => this.#counted(key, landed).value

  readonly #pickAnswer: FromLanded<Answer<unknown>> = (key, landed) => {
    const { value, entry, stale, from } = this.#counted(key, landed)
    return this.#answer(value, entry, stale, from)
  }

  #counted(key: CacheKey, landed: Landed): Landed {
    if (landed.from !== 'fetch') this.#countHit(key, landed.from, landed.stale)
    else if (landed.stale) this.#core.count.staleServed += 1
    return landed
  }

  #refreshEarly<T>(key: CacheKey, fetch: Fetch<T>, options: LookupOptions<T> | undefined, entry: Entry): void {
    if (!isEarly(entry, this.#core.nowMs(), this.#core.random)) return
    this.#flights.refresh(key, fetch, readLookup(fetch, options), entry)
  }

  #countHit(key: CacheKey, level: 'memory' | 'redis', stale: boolean): void {
    const { count, events } = this.#core
    count.hits[level] += 1
    if (stale) count.staleServed += 1
    if (events.has('hit')) events.emit('hit', { name: key.spec.name, level, stale })
  }

  #answer<T>(value: unknown, entry: Entry | undefined, stale: boolean, from: Answer<T>['from']): Answer<T> {
    const nowMs = this.#core.nowMs()
    const ageMs = entry ? Math.max(0, nowMs - entry.madeAtMs) : 0
    return {
      value: value as T,
      stale,
      ageMs,
      freshMs: entry && !stale ? Math.max(0, entry.freshUntilMs - nowMs) : 0,
      from,
    }
  }

  #checkKey(key: CacheKey): void {
    const refused = this.#refusal(key)
    if (refused !== undefined) throw refused
  }

  /** Why this key cannot be used now, if it cannot. */
  #refusal(key: CacheKey): SluiceError | undefined {
    if (!(key instanceof CacheKey))
      return invalidOption('key', key, 'use a key made by defineKeys, such as keys.price("XLM")')
    return this.#core.isClosed ? closed() : undefined
  }
}

function closed(): SluiceError {
  return new SluiceError('SLUICE_CLOSED', 'the cache was closed before the call')
}
