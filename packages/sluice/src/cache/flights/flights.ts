import { SluiceError } from '../../core/errors.ts'
import type { FetchMany } from '../cache.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import { type Entry, levelOf } from '../l1/entry.ts'
import type { L1 } from '../l1/l1.ts'
import type { L2 } from '../l2/l2.ts'
import type { LookupReply } from '../l2/lookups.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import { beginningAt, noBeginning } from '../values/stored-value.ts'
import { Fetches } from './fetches.ts'
import { Fill } from './fill.ts'
import { FillLocks } from './fill-lock.ts'
import { cached, type Fetch, Flight, FlightMap, type FlightSlot, type FromResult, type LookupResult } from './flight.ts'
import { GroupFetch } from './group-fetch.ts'

/** All lookups below L1: at most one per key at a time. */
export class Flights {
  readonly #l1: L1
  readonly #l2: L2 | undefined
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #fetches: Fetches
  readonly #fill: Fill
  readonly #flights = new FlightMap()
  readonly #locks: FillLocks | undefined
  #closed = false

  constructor(l1: L1, l2: L2 | undefined, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#l2 = l2
    this.#options = options
    this.#monitor = monitor
    this.#fetches = new Fetches(l1, options, monitor)
    this.#locks = l2 && new FillLocks(l1, l2, options)
    this.#fill = new Fill(l1, this.#fetches, options, monitor)
  }

  get size(): number {
    return this.#flights.size
  }

  /** Fetches many keys together; like one of the concurrent fetches of their name. */
  group(fetch: FetchMany<unknown>): GroupFetch {
    return new GroupFetch(fetch, this.#fetches)
  }

  /** Waits until everything that is in flight now has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#flights.flights().map(({ result }) => result))
  }

  /** Ends all flights. The keys that were being fetched are free for other processes then. */
  async close(): Promise<void> {
    this.#closed = true
    this.#fetches.close()
    this.#locks?.stopWaiting()
    await this.idle()
    await this.#locks?.idle()
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
    const parent = this.#fetches.calling
    if (parent !== undefined && present?.reaches(parent)) return Promise.reject(ownKey(key))
    if (present !== undefined && !this.#isInvalid(present)) {
      if (parent !== undefined) parent.waitFor(present)
      this.#monitor.shared(key.spec.name)
      return present.result.then((result) => pick(key, result))
    }
    return this.#look(this.#begin(key, fetch, rules, slot), known, pick)
  }

  /** Fetches, whatever is cached or in flight. */
  fresh<T>(
    key: DefinedKey,
    fetch: Fetch,
    rules: EntryRules | undefined,
    known: Entry | undefined,
    pick: FromResult<T>,
  ): Promise<T> {
    const slot = this.#flights.slot(key.encoded)
    const parent = this.#fetches.calling
    if (parent !== undefined && slot.flight?.reaches(parent)) return Promise.reject(ownKey(key))
    const flight = this.#begin(key, fetch, rules, slot)
    return this.#until(flight, this.#revalidate(flight, known, true)).then((result) => pick(key, result))
  }

  /** A key was set: what is in flight for it is older. */
  replace(key: string, entry: Entry): void {
    const flight = this.#flights.get(key)
    if (flight !== undefined) flight.replacement = entry
  }

  #begin(key: DefinedKey, fetch: Fetch, rules: EntryRules | undefined, slot: FlightSlot): Flight {
    const flight = new Flight(key, fetch, rules, slot, this.#l1.view.sequence)
    const parent = this.#fetches.calling
    if (parent !== undefined) {
      flight.parent = parent
      parent.waitFor(flight)
    }
    this.#flights.begin(flight)
    return flight
  }

  /** Fetches in the background, unless a flight or another process already does. */
  refresh(key: DefinedKey, fetch: Fetch, rules: EntryRules | undefined, known: Entry): void {
    const slot = this.#flights.slot(key.encoded)
    if (slot.flight !== undefined || this.#closed || this.#l1.nowMs() < known.retryAtMs) return
    const flight = new Flight(key, fetch, rules, slot, this.#l1.view.sequence)
    this.#flights.begin(flight)
    this.#until(flight, this.#revalidate(flight, known, false)).catch(() => undefined)
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
        const entry = this.#locks!.taken(flight, reply, start)
        // After the copy was decoded, which may have taken a while.
        const nowMs = this.#l1.nowMs()
        if (reply !== undefined) l2.answered(nowMs)
        if (entry !== undefined && this.#l1.isFresh(entry, nowMs)) {
          const result = cached(entry, false, levelOf(entry, reply))
          this.#flights.end(flight)
          flight.end(result)
          answer(pick(key, result))
        } else {
          const looking = this.#afterRead(flight, undefined, reply, entry)
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
    const result = looking.finally(() => this.#flights.end(flight))
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
      const state = this.#l1.stateOfHeld(known, flight)
      if (state === 'fresh' || (state === 'unproven' && !proven)) {
        const stale = state !== 'fresh'
        const entry = known
        if (stale) this.#after(flight, () => this.refreshUnproven(flight.key, flight.fetch, flight.rules, entry))
        return cached(known, stale, 'memory')
      }
      if (state === 'none') known = undefined
    }
    const start = this.#l1.readStart()
    const { clock, redisDeadlineMs } = this.#options
    // A Redis that answered is there: how long this process took with its answer is not the time of the next one.
    const withinMs = proven ? redisDeadlineMs : endMs - clock.monotonic()
    const reply = await l2.readOrLock(flight.key.encoded, noBeginning, withinMs)
    return this.#afterRead(flight, known, reply, this.#locks!.taken(flight, reply, start))
  }

  /** Continues with what Redis answered: returns the copy, or fetches under the fill lock. */
  async #afterRead(
    flight: Flight,
    found: Entry | undefined,
    reply: LookupReply | undefined,
    entry: Entry | undefined,
  ): Promise<LookupResult> {
    let known = found
    if (entry) {
      const state = this.#l1.stateOf(entry)
      const from = levelOf(entry, reply)
      if (state === 'fresh') return cached(entry, false, from)
      if (state === 'revalidate') {
        this.#after(flight, () => this.refresh(flight.key, flight.fetch, flight.rules, entry))
        return cached(entry, true, from)
      }
      if (state !== 'none') known = entry
    }
    this.#monitor.missed(flight.key.spec.name)
    if (reply?.kind === 'locked')
      return this.#fill.run(flight, this.#locks!.lock(flight.key.encoded, reply.token), known)
    const obtained = await this.#locks!.lockOrResult(flight, reply, known !== undefined)
    if (obtained !== undefined && 'value' in obtained) return obtained
    return this.#fill.run(flight, obtained, known)
  }

  /**
   * A refresh of a value that is still returned to callers: who has the fill lock does it. One that is forced is done
   * in any case; its value stays in this process if another one is just fetching the key.
   */
  async #revalidate(flight: Flight, known: Entry | undefined, isForced: boolean): Promise<LookupResult> {
    const l2 = this.#l2
    if (l2 === undefined || l2.isDown) return this.#fill.run(flight, undefined, known)
    const { encoded } = flight.key
    const { redisDeadlineMs } = this.#options
    const start = this.#l1.readStart()
    let reply = await l2.readOrLock(encoded, beginningAt(known?.id ?? 0), redisDeadlineMs)
    if (reply?.kind === 'stored') {
      const result = this.#locks!.usable(flight, reply, start)
      if (result?.stale === false && !isForced) return result
      // The copy in Redis must be renewed as well.
      reply = await l2.readOrLock(encoded, reply.beginning, redisDeadlineMs)
    }
    if (reply?.kind === 'locked') return this.#fill.run(flight, this.#locks!.lock(encoded, reply.token), known)
    if (reply !== undefined && !isForced && known !== undefined && this.#l1.stateOfHeld(known, flight) !== 'none')
      return cached(known, true, 'memory')
    return this.#fill.run(flight, undefined, known)
  }

  /** Starts a flight after this one, which has its result: while this one is registered, no other could start. */
  #after(flight: Flight, start: () => void): void {
    this.#flights.end(flight)
    start()
  }
}

function ownKey({ encoded }: DefinedKey): SluiceError {
  const text = `the fetch of ${encoded} looks up ${encoded}, directly or through another key, and would wait for itself`
  return new SluiceError('SLUICE_WRONG_USE', text)
}
