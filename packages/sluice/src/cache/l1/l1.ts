import type { Clock } from '../../core/clock.ts'
import type { ResolvedOptions } from '../options.ts'
import { type Instant, instantOf, wallOf } from '../protocol/instant.ts'
import { InvalidationView, type Validity } from '../protocol/invalidation-view.ts'
import type { Invalidation, Position } from '../protocol/messages.ts'
import { type Entry, judgeEntry } from './entry.ts'
import { SieveMap } from './sieve-map.ts'

/** How many invalidations a process and the log remember. */
export const maxScopes = 50_000
export const maxKeys = 10_000
const localGeneration = 'local'

/**
 * How an entry may be returned: `fresh`; `unproven`, within its TTL but it is unknown whether it was invalidated;
 * `revalidate`, past its TTL while a fetch is in flight; `error`, only if a fetch fails; `none`, not at all.
 */
export type EntryState = 'fresh' | 'unproven' | 'revalidate' | 'error' | 'none'

/** The position of the view when a copy was requested from Redis, and when that was. */
export interface ReadStart {
  readonly generation: string | undefined
  readonly sequence: number
  readonly atMs: number
}

/** The first level: the entries of this process, and what it knows of their invalidations. */
export class L1 {
  readonly entries: SieveMap<Entry>
  readonly view: InvalidationView
  readonly #clock: Clock
  readonly #readUs: () => number
  readonly #wallMs: () => number
  readonly #redis: { readonly connection: number } | undefined
  readonly #keeps: boolean
  /** The connection over which Redis last proved the view. */
  provenConnection = -1
  /** When a proof was last needed, by the monotonic clock. */
  usedMs: number = Number.NEGATIVE_INFINITY
  #isClosed = false
  #sequence = 0

  /** Without Redis, all invalidations are those of this process. */
  constructor(options: ResolvedOptions, redis: { readonly connection: number } | undefined) {
    const { clock, memory, proofMs } = options
    this.#clock = clock
    this.#readUs = clock.coarse ?? clock.now
    this.#wallMs = wallOf(clock)
    this.#redis = redis
    this.#keeps = memory !== undefined
    this.entries = new SieveMap(memory?.maxEntries ?? 0, memory?.maxBytes ?? 0)
    this.view = new InvalidationView({ maxScopes, maxKeys, proofMs })
    if (redis === undefined) {
      const log = { generation: localGeneration, sequence: 0, since: undefined, scopeFloor: 0, keyFloor: 0 }
      this.view.synchronize({ ...log, isLast: true, changes: [] }, this.instant())
    }
  }

  close(): void {
    this.#isClosed = true
    this.entries.clear()
  }

  /**
   * Milliseconds that never run backwards, for the times of entries. The time that the machine was suspended is
   * included a second later: what ends by such a time also ends by the wall clock.
   */
  nowMs(): number {
    return this.#readUs() / 1000
  }

  instant(): Instant {
    return instantOf(this.#clock)
  }

  /** The position and time at which a copy is requested from Redis. */
  readStart(atMs: number = this.nowMs()): ReadStart {
    const { generation, sequence } = this.view
    return { generation, sequence, atMs }
  }

  /** Whether all invalidations up to `proofMs` ago are known. */
  isProven(): boolean {
    return this.#isProvenAt(this.#wallMs())
  }

  /**
   * The same for a time that was just read. A proof belongs to a connection: another one may lead to a server that took
   * over and has copies that were replaced.
   */
  #isProvenAt(wallMs: number): boolean {
    if (this.#redis === undefined) return true
    const monotonicMs = this.#clock.monotonic()
    this.usedMs = monotonicMs
    return this.#redis.connection === this.provenConnection && this.view.proven(monotonicMs, wallMs)
  }

  /** Whether an entry may be returned as fresh. */
  isFresh(entry: Entry, nowMs: number = this.nowMs()): boolean {
    const wallMs = this.#wallMs()
    if (Math.max(nowMs, wallMs) >= entry.freshUntilMs || judgeEntry(this.view, entry) !== 'valid') return false
    return this.#isProvenAt(wallMs)
  }

  stateOf(entry: Entry): EntryState {
    const validity = judgeEntry(this.view, entry)
    const nowMs = Math.max(this.nowMs(), this.#wallMs())
    if (validity === 'invalid' || nowMs >= entry.errorUntilMs) return 'none'
    if (nowMs < entry.freshUntilMs) return validity === 'valid' && this.isProven() ? 'fresh' : 'unproven'
    return nowMs < entry.staleUntilMs ? 'revalidate' : 'error'
  }

  /**
   * The same for what a flight has held for a while: it is out of the sight of `forget` and `purge` once it is evicted
   * or replaced, and the record of its last judgement says nothing of what they removed.
   */
  stateOfHeld(entry: Entry, flight: { readonly sequence: number; readonly invalidated: boolean }): EntryState {
    if (this.entries.peek(entry.key) !== entry) {
      if (flight.invalidated || this.view.judge(entry, flight.sequence) === 'invalid') return 'none'
    }
    return this.stateOf(entry)
  }

  /** Keeps an entry, unless it was judged to be invalid. */
  keep(entry: Entry, validity: Validity): Entry | undefined {
    if (validity === 'invalid') return undefined
    if (validity === 'valid') {
      entry.epoch = this.view.epoch
      entry.scopeVersion = this.view.scopeVersion
    }
    entry.uses = (this.entries.peek(entry.key)?.uses ?? 0) + 1
    if (this.#keeps && !this.#isClosed) this.entries.set(entry.key, entry)
    return entry
  }

  /** Removes an invalidated key; for prefixes and tags, entries are checked when they are read. */
  forget(scope: string, at: Position): void {
    if (!scope.startsWith('k:')) return
    const entry = this.entries.peek(scope.slice(2))
    // What a producer set is stamped with the same invalidation that announces it.
    if (entry === undefined || (entry.generation === at.generation && entry.sequence >= at.sequence)) return
    this.entries.delete(entry.key)
  }

  /** Removes all that these scopes cover, for an invalidation that is in no log yet. Looks at every entry. */
  purge(scopes: readonly string[]): void {
    const gone = new Set(scopes)
    for (const [key, entry] of [...this.entries.entries()])
      if (gone.has(`k:${key}`) || entry.scopes.some((scope) => gone.has(scope))) this.entries.delete(key)
  }

  /** Applies an invalidation of a cache without Redis. */
  invalidateAlone(scopes: readonly string[]): Invalidation {
    this.#sequence += 1
    const message = { generation: localGeneration, sequence: this.#sequence, scopes }
    this.view.receive(message, this.#clock.monotonic())
    for (const scope of scopes) this.forget(scope, message)
    return message
  }
}
