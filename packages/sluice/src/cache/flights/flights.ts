import type { Fetch } from '../cache.ts'
import type { CacheKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import { beginningOf, timeText } from '../link/stored-value.ts'
import type { CacheCore, ReadMark } from '../lookup/cache-core.ts'
import { Claim } from '../lookup/claim.ts'
import type { Entry } from '../lookup/entry.ts'
import { keepEntry, levelOf, takeStored } from '../lookup/keep-entry.ts'
import { makeEntry } from '../lookup/make-entry.ts'
import { readStored, type Stored } from '../lookup/reading.ts'
import { FirstRead } from './first-read.ts'
import { type Flight, runFetch } from './flight.ts'
import { FlightMap } from './flight-map.ts'
import { type FromLanded, InFlight, type Landed } from './in-flight.ts'

/** A value that is invalidated while it is fetched is fetched again, but only this often. */
const maxAttempts = 3

/** All lookups below the first level: at most one per key at a time. */
export class Flights {
  readonly #core: CacheCore
  readonly #flights = new FlightMap<InFlight>()

  constructor(core: CacheCore) {
    this.#core = core
  }

  get size(): number {
    return this.#flights.size
  }

  /** Waits until all flights have ended, which they do soon after the cache was closed. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#flights.flights().map(({ landing }) => landing))
  }

  /**
   * Joins the flight of a key or starts one. A flight whose data was read before an invalidation is not joined. `known`
   * is what the first level has of the key.
   */
  join<T>(
    key: CacheKey,
    fetch: Fetch<unknown>,
    rules: EntryRules | undefined,
    known: Entry | undefined,
    pick: FromLanded<T>,
  ): Promise<T> {
    const slot = this.#flights.slot(key.encoded)
    const present = slot.flight
    if (present !== undefined && !this.#isDead(present)) {
      this.#core.count.sharedFlights += 1
      if (this.#core.events.has('shared')) this.#core.events.emit('shared', { name: key.spec.name })
      return present.landing.then((landed) => pick(key, landed))
    }
    const flight = new InFlight(key, fetch, rules, slot)
    this.#flights.begin(slot, flight)
    return this.#look(flight, known, pick)
  }

  /** Fetches in the background, unless a flight or another process already does. */
  refresh(key: CacheKey, fetch: Fetch<unknown>, rules: EntryRules | undefined, known: Entry): void {
    const slot = this.#flights.slot(key.encoded)
    if (slot.flight !== undefined || this.#core.isClosed) return
    const flight = new InFlight(key, fetch, rules, slot)
    this.#flights.begin(slot, flight)
    this.#over(flight, this.#revalidate(flight, known)).catch(() => undefined)
  }

  /** While Redis is away: fetches once what was cached before. What was fetched since then stays until its TTL ends. */
  refreshUnproven(key: CacheKey, fetch: Fetch<unknown>, rules: EntryRules | undefined, known: Entry): void {
    const { redis } = this.#core
    if (redis !== undefined && known.madeAtMs < redis.lastAnswerMs) this.refresh(key, fetch, rules, known)
  }

  /** For an invalidation that is in no log: what is in flight now must not be returned to later callers. */
  kill(scopes: readonly string[]): void {
    for (const flight of this.#flights.flights()) {
      const own = [flight.key.scope, ...flight.key.prefixScopes]
      if (scopes.some((scope) => own.includes(scope) || scope.startsWith('t:'))) flight.dead = true
    }
  }

  #landed(flight: InFlight): void {
    this.#flights.end(flight.slot, flight)
  }

  #isDead(flight: Flight): boolean {
    if (flight.dead) return true
    if (flight.stamp === undefined) return false
    const { encoded, prefixScopes } = flight.key
    return this.#core.view.judge({ key: encoded, scopes: prefixScopes, ...flight.stamp }) === 'dead'
  }

  #look<T>(flight: InFlight, known: Entry | undefined, pick: FromLanded<T>): Promise<T> {
    const { redis, options, clock } = this.#core
    const { key } = flight
    if (redis === undefined) {
      this.#missed(flight)
      return this.#over(flight, this.#fetch(flight, undefined, known, 1)).then((landed) => pick(key, landed))
    }
    const monotonicMs = clock.monotonic()
    const nowMs = this.#core.nowMs()
    const endMs = monotonicMs + options.redisDeadlineMs
    const proof = redis.isProvenAt(monotonicMs, nowMs) || redis.prove(options.redisDeadlineMs)
    if (known !== undefined || proof !== true) {
      const landing = this.#over(flight, this.#lookWith(flight, known, proof, endMs))
      return landing.then((landed) => pick(key, landed))
    }
    // The common case, a fresh copy in Redis, needs no more than this one promise.
    return new Promise((answer) => {
      const mark = this.#core.mark(nowMs)
      const read = new FirstRead<T>(flight, mark, endMs, pick, answer, redis, this.#firstReadEnded)
      if (!redis.read(key.encoded, options.redisDeadlineMs, read)) this.#firstReadEnded(read as FirstRead, undefined)
    })
  }

  readonly #firstReadEnded = (read: FirstRead, stored: Stored): void => {
    const { flight, mark, pick } = read
    const entry = this.#taken(flight, stored, mark)
    // After the copy was decoded, which may have taken a while.
    const nowMs = this.#core.nowMs()
    if (stored !== undefined) this.#core.redis!.heard(nowMs)
    if (entry !== undefined && this.#core.isFreshAt(entry, nowMs)) {
      const landed: Landed = { value: entry.value, stale: false, from: levelOf(entry, stored), entry }
      this.#landed(flight)
      flight.land(landed)
      read.answer(pick(flight.key, landed))
    } else {
      const landing = this.#over(flight, this.#afterRead(flight, undefined, stored, entry, read.endMs))
      read.answer(landing.then((landed) => pick(flight.key, landed)))
    }
  }

  #missed({ key }: Flight): void {
    const { count, events } = this.#core
    count.misses += 1
    if (events.has('miss')) events.emit('miss', { name: key.spec.name })
  }

  /** Ends a flight when its result is there. */
  #over(flight: InFlight, landing: Promise<Landed>): Promise<Landed> {
    const over = landing.finally(() => this.#landed(flight))
    flight.land(over)
    return over
  }

  /** Looks up a key that is in process already, or for which a proof is needed first. */
  async #lookWith(
    flight: InFlight,
    found: Entry | undefined,
    proof: Promise<boolean> | true,
    endMs: number,
  ): Promise<Landed> {
    const core = this.#core
    const proven = proof === true || (await proof)
    let known = found
    if (known !== undefined) {
      // Perhaps only the proof was missing. If none can be obtained, the entry in process is used.
      const standing = core.standing(known)
      if (standing === 'fresh' || (standing === 'unproven' && !proven)) {
        const stale = standing !== 'fresh'
        const entry = known
        if (stale) this.#after(flight, () => this.refreshUnproven(flight.key, flight.fetch, flight.rules, entry))
        return { value: known.value, stale, from: 'memory', entry }
      }
      if (standing === 'none') known = undefined
    }
    const mark = core.mark()
    const leftMs = endMs - core.clock.monotonic()
    const stored = await readStored(core, core.redis!, flight.key.encoded, leftMs)
    const entry = this.#taken(flight, stored, mark)
    return this.#afterRead(flight, known, stored, entry, endMs)
  }

  /** Continues with what Redis had: returns it, or claims the right to fetch. */
  async #afterRead(
    flight: InFlight,
    found: Entry | undefined,
    stored: Stored,
    entry: Entry | undefined,
    endMs: number,
  ): Promise<Landed> {
    const core = this.#core
    let known = found
    if (entry) {
      const standing = core.standing(entry)
      const from = levelOf(entry, stored)
      if (standing === 'fresh') return { value: entry.value, stale: false, from, entry }
      if (standing === 'revalidate') {
        this.#after(flight, () => this.refresh(flight.key, flight.fetch, flight.rules, entry))
        return { value: entry.value, stale: true, from, entry }
      }
      if (standing !== 'none') known = entry
    }
    this.#missed(flight)
    const claim = stored === undefined ? undefined : new Claim(core, flight.key.encoded)
    const left = (): number => endMs - core.clock.monotonic()
    const claimed = await claim?.acquire(beginningOf(stored), left, () => this.#landStored(flight, claim))
    if (typeof claimed === 'object') return claimed
    return this.#fetch(flight, claimed === true ? claim : undefined, known, 1)
  }

  /** A refresh of a value that is still returned to callers. The holder of the claim does it. */
  async #revalidate(flight: InFlight, known: Entry): Promise<Landed> {
    const core = this.#core
    if (core.redis === undefined || core.redis.state === 'down') return this.#fetch(flight, undefined, known, 1)
    const claim = new Claim(core, flight.key.encoded)
    let claimed = await claim.tryOnce(timeText(known.id))
    if (claimed === 'stored') {
      const landed = this.#landStored(flight, claim)
      if (landed?.stale === false) return landed
      // The copy in Redis must be renewed as well.
      claimed = await claim.tryOnce(beginningOf(claim.stored))
    }
    if (claimed === 'held' || claimed === 'stored')
      return { value: known.value, stale: true, from: 'memory', entry: known }
    return this.#fetch(flight, claimed === 'granted' ? claim : undefined, known, 1)
  }

  /** What another process stored while this one requested the claim, if it can be returned. */
  #landStored(flight: InFlight, { stored, mark }: Claim): Landed | undefined {
    const entry = this.#taken(flight, stored, mark)
    if (entry === undefined) return undefined
    const standing = this.#core.standing(entry)
    if (standing === 'none' || standing === 'error') return undefined
    return { value: entry.value, stale: standing !== 'fresh', from: levelOf(entry, stored), entry }
  }

  /** The copy that Redis had when this flight read it, unless it was invalidated meanwhile without Redis. */
  #taken(flight: InFlight, stored: Stored, mark: ReadMark): Entry | undefined {
    return stored && !flight.dead ? takeStored(this.#core, flight.key, stored, mark) : undefined
  }

  /** Starts a flight after this one, which has its answer: while this one is registered, no other could start. */
  #after(flight: InFlight, start: () => void): void {
    this.#landed(flight)
    start()
  }

  async #fetch(flight: InFlight, claim: Claim | undefined, known: Entry | undefined, attempt: number): Promise<Landed> {
    const core = this.#core
    const { key } = flight
    const sinceMs = core.clock.monotonic() - core.options.replicaLagMs
    const scopes = known?.scopes ?? key.prefixScopes
    const afterInvalidation = attempt > 1 || core.view.heardSince(key.encoded, scopes, sinceMs)
    claim?.hold()
    try {
      const fetched = await runFetch(core, flight, afterInvalidation)
      const source = { stamp: fetched.stamp, fetchMs: Math.max(1, Math.ceil(fetched.tookMs)) }
      const made = makeEntry(core, key, fetched.value, flight.rules, source)
      const subject = made?.entry ?? {
        key: key.encoded,
        scopes: key.prefixScopes,
        generation: undefined,
        sequence: 0,
        ...fetched.stamp,
      }
      const verdict = flight.dead ? 'dead' : core.view.judge(subject)
      if (verdict === 'dead' && attempt < maxAttempts) {
        const newer = this.#flights.get(key.encoded)
        if (newer !== undefined && newer !== flight) {
          claim?.release()
          return await newer.landing
        }
        return await this.#fetch(flight, claim, undefined, attempt + 1)
      }
      if (made === undefined) claim?.release()
      else if (verdict !== 'dead') {
        keepEntry(core, made.entry, verdict)
        claim?.store(made.entry, made.bytes!, made.keepMs)
      } else claim?.release()
      const { monotonicMs, wallMs } = core.moment()
      const tookMs = Math.max(monotonicMs - fetched.beganAt.monotonicMs, Math.abs(wallMs - fetched.beganAt.wallMs))
      // An invalidation that was acknowledged strictly is older than D, so data read since then is newer.
      const young = core.redis === undefined || tookMs < core.options.proofMs
      const stale = verdict === 'dead' || !(young || (verdict === 'current' && core.proven()))
      return { value: made ? made.entry.value : fetched.value, stale, from: 'fetch', entry: made?.entry }
    } catch (error) {
      claim?.release()
      const left = known && core.standing(known)
      if (known === undefined || left === 'none') throw error
      return { value: known.value, stale: true, from: known.id === 0 ? 'memory' : 'redis', entry: known }
    }
  }
}
