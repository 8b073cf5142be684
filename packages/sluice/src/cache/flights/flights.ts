import { backoffMs } from '../../core/backoff.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import { type Entry, levelOf } from '../l1/entry.ts'
import type { L1, ReadStart } from '../l1/l1.ts'
import type { L2 } from '../l2/l2.ts'
import type { LookupReply } from '../link/cache-link.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import { beginningAt, noBeginning } from '../values/stored-value.ts'
import { Fetches } from './fetches.ts'
import { Fill } from './fill.ts'
import { FillLock } from './fill-lock.ts'
import { type Fetch, Flight, type FromResult, type LookupResult } from './flight.ts'
import { FlightMap } from './flight-map.ts'

/** How often a process asks again that waits for the fetch of another: a message wakes it, but messages can be lost. */
const polls = { baseMs: 25, maxMs: 1000 } as const

/** All lookups below L1: at most one per key at a time. */
export class Flights {
  readonly #l1: L1
  readonly #l2: L2 | undefined
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #fetches: Fetches
  readonly #fill: Fill
  readonly #flights = new FlightMap<Flight>()
  /** The ends of fill locks that are being sent. */
  readonly #sending = new Set<Promise<unknown>>()
  #closed = false

  constructor(l1: L1, l2: L2 | undefined, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#l2 = l2
    this.#options = options
    this.#monitor = monitor
    this.#fetches = new Fetches(l1, options, monitor)
    this.#fill = new Fill(l1, this.#fetches, options, monitor, (flight) => this.#flights.get(flight.key.encoded))
  }

  get size(): number {
    return this.#flights.size
  }

  /** Waits until everything that is in flight now has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#flights.flights().map(({ result }) => result))
  }

  /** Ends all flights. The keys that were being fetched are free for other processes then. */
  async close(): Promise<void> {
    this.#closed = true
    this.#fetches.close()
    this.#l2?.fills.wakeAll()
    await this.idle()
    this.#l2?.flush()
    await Promise.all(this.#sending)
  }

  /**
   * Joins the flight of a key or starts one. A flight whose data was read before an invalidation is not joined. `known`
   * is what L1 has of the key.
   */
  join<T>(
    key: DefinedKey,
    fetch: Fetch,
    rules: EntryRules | undefined,
    known: Entry | undefined,
    pick: FromResult<T>,
  ): Promise<T> {
    const slot = this.#flights.slot(key.encoded)
    const present = slot.flight
    if (present !== undefined && !this.#isInvalid(present)) {
      this.#monitor.shared(key.spec.name)
      return present.result.then((result) => pick(key, result))
    }
    const flight = new Flight(key, fetch, rules, slot)
    this.#flights.begin(slot, flight)
    return this.#look(flight, known, pick)
  }

  /** Fetches in the background, unless a flight or another process already does. */
  refresh(key: DefinedKey, fetch: Fetch, rules: EntryRules | undefined, known: Entry): void {
    const slot = this.#flights.slot(key.encoded)
    if (slot.flight !== undefined || this.#closed) return
    const flight = new Flight(key, fetch, rules, slot)
    this.#flights.begin(slot, flight)
    this.#until(flight, this.#revalidate(flight, known)).catch(() => undefined)
  }

  /** While Redis is away: fetches once what was cached before. What was fetched since then stays until its TTL ends. */
  refreshUnproven(key: DefinedKey, fetch: Fetch, rules: EntryRules | undefined, known: Entry): void {
    if (this.#l2 !== undefined && known.madeAtMs < this.#l2.lastAnswerMs) this.refresh(key, fetch, rules, known)
  }

  /** For an invalidation that is in no log: what is in flight now must not be returned to later callers. */
  invalidate(scopes: readonly string[]): void {
    for (const flight of this.#flights.flights()) {
      const own = [flight.key.scope, ...flight.key.prefixScopes]
      if (scopes.some((scope) => own.includes(scope) || scope.startsWith('t:'))) flight.invalidated = true
    }
  }

  #isInvalid(flight: Flight): boolean {
    if (flight.invalidated) return true
    if (flight.stamp === undefined) return false
    const { encoded, prefixScopes } = flight.key
    return this.#l1.view.judge({ key: encoded, scopes: prefixScopes, ...flight.stamp }) === 'invalid'
  }

  #look<T>(flight: Flight, known: Entry | undefined, pick: FromResult<T>): Promise<T> {
    const { key } = flight
    const l2 = this.#l2
    if (l2 === undefined) {
      this.#monitor.missed(key.spec.name)
      return this.#until(flight, this.#fill.run(flight, undefined, known)).then((result) => pick(key, result))
    }
    const { redisDeadlineMs, clock } = this.#options
    const endMs = clock.monotonic() + redisDeadlineMs
    const proof = l2.log.prove(redisDeadlineMs)
    if (known !== undefined || proof !== true) {
      const looking = this.#lookWith(flight, l2, known, proof, endMs)
      return this.#until(flight, looking).then((result) => pick(key, result))
    }
    // The common case, a fresh copy in Redis, needs no more than this one promise.
    return new Promise((answer) => {
      const start = this.#l1.readStart()
      const ended = (reply: LookupReply | undefined): void => {
        const entry = this.#taken(flight, l2, reply, start)
        // After the copy was decoded, which may have taken a while.
        const nowMs = this.#l1.nowMs()
        if (reply !== undefined) l2.answered(nowMs)
        if (entry !== undefined && this.#l1.isFresh(entry, nowMs)) {
          const result = { value: entry.value, stale: false, from: levelOf(entry, reply), entry }
          this.#flights.end(flight.slot, flight)
          flight.end(result)
          answer(pick(key, result))
        } else {
          const looking = this.#afterRead(flight, l2, undefined, reply, entry)
          answer(this.#until(flight, looking).then((result) => pick(key, result)))
        }
      }
      const reject = (error: unknown): void => {
        l2.failed(error)
        ended(undefined)
      }
      if (!l2.lookUp(key.encoded, noBeginning, redisDeadlineMs, { resolve: ended, reject })) ended(undefined)
    })
  }

  /** Ends a flight when its result is there. */
  #until(flight: Flight, looking: Promise<LookupResult>): Promise<LookupResult> {
    const result = looking.finally(() => this.#flights.end(flight.slot, flight))
    flight.end(result)
    return result
  }

  /** Looks up a key that is in L1 already, or for which a proof is needed first. */
  async #lookWith(
    flight: Flight,
    l2: L2,
    found: Entry | undefined,
    proof: Promise<boolean> | true,
    endMs: number,
  ): Promise<LookupResult> {
    const proven = proof === true || (await proof)
    let known = found
    if (known !== undefined) {
      // Perhaps only the proof was missing. If none can be obtained, the entry in L1 is used.
      const state = this.#l1.stateOf(known)
      if (state === 'fresh' || (state === 'unproven' && !proven)) {
        const stale = state !== 'fresh'
        const entry = known
        if (stale) this.#after(flight, () => this.refreshUnproven(flight.key, flight.fetch, flight.rules, entry))
        return { value: known.value, stale, from: 'memory', entry }
      }
      if (state === 'none') known = undefined
    }
    const start = this.#l1.readStart()
    const reply = await l2.readOrLock(flight.key.encoded, noBeginning, endMs - this.#options.clock.monotonic())
    return this.#afterRead(flight, l2, known, reply, this.#taken(flight, l2, reply, start))
  }

  /** Continues with what Redis answered: returns the copy, or fetches under the fill lock. */
  async #afterRead(
    flight: Flight,
    l2: L2,
    found: Entry | undefined,
    reply: LookupReply | undefined,
    entry: Entry | undefined,
  ): Promise<LookupResult> {
    let known = found
    if (entry) {
      const state = this.#l1.stateOf(entry)
      const from = levelOf(entry, reply)
      if (state === 'fresh') return { value: entry.value, stale: false, from, entry }
      if (state === 'revalidate') {
        this.#after(flight, () => this.refresh(flight.key, flight.fetch, flight.rules, entry))
        return { value: entry.value, stale: true, from, entry }
      }
      if (state !== 'none') known = entry
    }
    this.#monitor.missed(flight.key.spec.name)
    const obtained = reply && (await this.#lockOrResult(flight, l2, reply))
    if (obtained !== undefined && 'value' in obtained) return obtained
    return this.#fill.run(flight, obtained, known)
  }

  /**
   * Obtains the fill lock, or what another process filled the key with. Waits while another process has the lock, which
   * is no longer than its fetch may take and a lock outlives its holder. Undefined when Redis does not answer.
   */
  async #lockOrResult(flight: Flight, l2: L2, first: LookupReply): Promise<FillLock | LookupResult | undefined> {
    const { clock, random, redisDeadlineMs, fetchDeadlineMs, fillLockMs } = this.#options
    const { encoded } = flight.key
    const endMs = clock.monotonic() + fetchDeadlineMs + fillLockMs
    // Until when another process has the lock for sure, also if Redis does not answer meanwhile.
    let heldUntilMs = clock.monotonic()
    let reply: LookupReply | undefined = first
    let rejected = noBeginning
    for (let attempt = 0; clock.monotonic() < endMs && !this.#closed; attempt++) {
      if (reply?.kind === 'locked') return this.#lock(l2, encoded, reply.token)
      if (reply?.kind === 'held') heldUntilMs = clock.monotonic() + reply.forMs
      else if (reply === undefined && clock.monotonic() >= heldUntilMs) return undefined
      if (reply?.kind === 'stored') rejected = reply.beginning
      // The copy that was read first is replaced at once; everything else waits.
      if (reply !== first || reply.kind !== 'stored') {
        const leftMs = Math.max(1, heldUntilMs - clock.monotonic())
        const pollMs = backoffMs(attempt, random, polls)
        await l2.fills.wait(encoded, reply?.kind === 'held' ? Math.min(pollMs, leftMs) : pollMs)
      }
      const start = this.#l1.readStart()
      reply = await l2.readOrLock(encoded, rejected, redisDeadlineMs)
      const result = this.#usable(flight, l2, reply, start)
      if (result !== undefined) return result
    }
    return reply?.kind === 'locked' ? this.#lock(l2, encoded, reply.token) : undefined
  }

  /** A refresh of a value that is still returned to callers. Who has the fill lock does it. */
  async #revalidate(flight: Flight, known: Entry): Promise<LookupResult> {
    const l2 = this.#l2
    if (l2 === undefined || l2.isDown) return this.#fill.run(flight, undefined, known)
    const { encoded } = flight.key
    const { redisDeadlineMs } = this.#options
    const start = this.#l1.readStart()
    let reply = await l2.readOrLock(encoded, beginningAt(known.id), redisDeadlineMs)
    if (reply?.kind === 'stored') {
      const result = this.#usable(flight, l2, reply, start)
      if (result?.stale === false) return result
      // The copy in Redis must be renewed as well.
      reply = await l2.readOrLock(encoded, reply.beginning, redisDeadlineMs)
    }
    if (reply?.kind === 'held' || reply?.kind === 'stored')
      return { value: known.value, stale: true, from: 'memory', entry: known }
    return this.#fill.run(flight, reply && this.#lock(l2, encoded, reply.token), known)
  }

  #lock(l2: L2, key: string, token: string): FillLock {
    return new FillLock(l2, this.#options, this.#sending, key, token)
  }

  /** What another process stored meanwhile, if it can be returned. */
  #usable(flight: Flight, l2: L2, reply: LookupReply | undefined, start: ReadStart): LookupResult | undefined {
    const entry = this.#taken(flight, l2, reply, start)
    if (entry === undefined) return undefined
    const state = this.#l1.stateOf(entry)
    if (state === 'none' || state === 'error') return undefined
    return { value: entry.value, stale: state !== 'fresh', from: levelOf(entry, reply), entry }
  }

  /** The copy that Redis had when this flight read it, unless it was invalidated meanwhile without Redis. */
  #taken(flight: Flight, l2: L2, reply: LookupReply | undefined, start: ReadStart): Entry | undefined {
    return reply?.kind === 'stored' && !flight.invalidated ? l2.take(flight.key, reply, start) : undefined
  }

  /** Starts a flight after this one, which has its result: while this one is registered, no other could start. */
  #after(flight: Flight, start: () => void): void {
    this.#flights.end(flight.slot, flight)
    start()
  }
}
