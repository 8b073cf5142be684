import type { Clock } from '../../core/clock.ts'
import { SluiceError } from '../../core/errors.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import type { CacheEvents } from '../events.ts'
import { FetchGate } from '../flights/fetch-gate.ts'
import type { CacheLink } from '../link/cache-link.ts'
import { SieveMap } from '../memory/sieve-map.ts'
import type { ResolvedOptions } from '../options.ts'
import { InvalidationView } from '../protocol/invalidation-view.ts'
import type { Invalidation, Moment, Position } from '../protocol/messages.ts'
import { type Counts, newCounts } from '../stats.ts'
import { type Entry, judgeEntry } from './entry.ts'
import { RedisSide } from './redis-side.ts'

/** How many invalidations a process and the log remember. */
export const maxScopes = 50_000
export const maxKeys = 10_000
const localGeneration = 'local'

/**
 * How an entry may be answered: `fresh`; `unproven`, within its TTL but it is unknown whether it was invalidated;
 * `revalidate`, past its TTL while a fetch is in flight; `error`, only if a fetch fails; `none`, not at all.
 */
export type Standing = 'fresh' | 'unproven' | 'revalidate' | 'error' | 'none'

/** The position of the view when a copy was requested from Redis, and when that was. */
export interface ReadMark {
  readonly generation: string | undefined
  readonly sequence: number
  readonly atMs: number
}

/** What the parts of one cache share: the first level, the view of the log, time, counters and events. */
export class CacheCore {
  readonly options: ResolvedOptions
  readonly clock: Clock
  readonly random: () => number
  readonly events: Emitter<CacheEvents> = new Emitter()
  readonly count: Counts = newCounts()
  readonly view: InvalidationView
  readonly memory: SieveMap<Entry>
  readonly redis: RedisSide | undefined
  /** The fetches in flight, which end when the cache closes. */
  readonly fetching: Set<AbortController> = new Set()
  /** What is sent to Redis in the background: the ends of claims. */
  readonly sending: Set<Promise<unknown>> = new Set()
  isClosed = false
  /** Wakes those who sleep when the cache closes. */
  readonly #sleeping = new Set<() => void>()
  readonly #gates = new Map<string, FetchGate>()
  /** Called when entries became only stale; `sameLog` if messages were lost, otherwise the log itself was. */
  onLost: (sameLog: boolean) => void = () => undefined
  readonly #readUs: () => number
  #sequence = 0

  constructor(options: ResolvedOptions, link: CacheLink | undefined) {
    this.options = options
    this.clock = options.clock
    this.#readUs = options.clock.coarse ?? options.clock.now
    this.random = options.random
    this.view = new InvalidationView({ maxScopes, maxKeys, proofMs: options.proofMs })
    this.memory = new SieveMap(options.memory?.maxEntries ?? 0, options.memory?.maxBytes ?? 0)
    this.redis = link && new RedisSide(this, link)
    if (!link) {
      const log = {
        generation: localGeneration,
        sequence: 0,
        since: undefined,
        scopeFloor: 0,
        keyFloor: 0,
        changes: [],
      }
      this.view.synchronize(log, this.moment())
    }
  }

  /** Ends what is in flight: fetches by their signal, waiting at once. */
  close(): void {
    this.isClosed = true
    this.memory.clear()
    const reason = new SluiceError('SLUICE_CLOSED', 'the cache was closed during the fetch')
    for (const controller of this.fetching) controller.abort(reason)
    for (const wake of this.#sleeping) wake()
  }

  /** Waits for so long, or until the cache closes. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.clock.clearTimeout(timer)
        this.#sleeping.delete(wake)
        resolve()
      }
      const timer = this.clock.setTimeout(wake, ms)
      this.#sleeping.add(wake)
    })
  }

  /** Milliseconds that never run backwards, but include the time that the machine was suspended. */
  nowMs(): number {
    return this.#readUs() / 1000
  }

  moment(): Moment {
    return { monotonicMs: this.clock.monotonic(), wallMs: this.nowMs() }
  }

  /** The position and time at which a copy is requested from Redis. */
  mark(atMs: number = this.nowMs()): ReadMark {
    const { generation, sequence } = this.view
    return { generation, sequence, atMs }
  }

  /** Whether invalidations up to D ago are known. Without Redis there are only those of this process. */
  proven(): boolean {
    return this.redis === undefined || this.redis.proven()
  }

  /** Whether an entry of the first level may be answered as fresh; then it counts as used. */
  isFresh(entry: Entry): boolean {
    return this.isFreshAt(entry, this.nowMs())
  }

  /** The same for a time that was just read. */
  isFreshAt(entry: Entry, nowMs: number): boolean {
    if (nowMs >= entry.freshUntilMs || judgeEntry(this.view, entry) !== 'current') return false
    return this.redis === undefined || this.redis.isProvenAt(this.clock.monotonic(), nowMs)
  }

  /** How an entry of the first level may be answered. */
  standing(entry: Entry): Standing {
    const verdict = judgeEntry(this.view, entry)
    return this.standingBy(entry, verdict !== 'dead', verdict === 'current')
  }

  standingBy(entry: Entry, usable: boolean, known: boolean): Standing {
    const nowMs = this.nowMs()
    if (!usable || nowMs >= entry.errorUntilMs) return 'none'
    if (nowMs < entry.freshUntilMs) return known && this.proven() ? 'fresh' : 'unproven'
    return nowMs < entry.staleUntilMs ? 'revalidate' : 'error'
  }

  keep(entry: Entry): void {
    if (this.options.memory !== undefined && !this.isClosed) this.memory.set(entry.key, entry)
  }

  /** Removes invalidated keys from the first level; for prefixes and tags, entries are checked when they are read. */
  forget(scope: string, at: Position): void {
    if (!scope.startsWith('k:')) return
    const entry = this.memory.peek(scope.slice(2))
    // What a producer set is stamped with the same invalidation that announces it.
    if (entry === undefined || (entry.generation === at.generation && entry.sequence >= at.sequence)) return
    this.memory.delete(entry.key)
  }

  /**
   * Removes all entries that one of these scopes covers, for an invalidation that is in no log yet. Looks at every
   * entry.
   */
  purge(scopes: readonly string[]): void {
    const gone = new Set(scopes)
    for (const [key, entry] of [...this.memory.entries()])
      if (gone.has(`k:${key}`) || entry.scopes.some((scope) => gone.has(scope))) this.memory.delete(key)
  }

  /** Applies an invalidation of a cache without Redis. */
  invalidateAlone(scopes: readonly string[]): Invalidation {
    this.#sequence += 1
    const message = { generation: localGeneration, sequence: this.#sequence, scopes }
    this.view.receive(message, this.clock.monotonic())
    for (const scope of scopes) this.forget(scope, message)
    this.count.invalidations.sent += scopes.length
    return message
  }

  lost(sameLog: boolean): void {
    this.count.unproven += 1
    this.events.emit('unproven', { reason: sameLog ? 'lost' : 'generation' })
    this.onLost(sameLog)
  }

  gate(name: string): FetchGate {
    let gate = this.#gates.get(name)
    if (gate === undefined) {
      gate = new FetchGate(this.options.maxFetches, this.options.queueDeadlineMs, this.clock)
      this.#gates.set(name, gate)
    }
    return gate
  }
}
