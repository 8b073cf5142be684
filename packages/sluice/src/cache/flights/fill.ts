import { backoffMs } from '../../core/backoff.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { firstRule } from '../keys/key-spec.ts'
import type { Entry } from '../l1/entry.ts'
import type { L1 } from '../l1/l1.ts'
import { makeEntry } from '../l1/make-entry.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import { type Instant, passedMs } from '../protocol/instant.ts'
import type { Fetches } from './fetches.ts'
import type { FillLock } from './fill-lock.ts'
import { cached, type Flight, type LookupResult } from './flight.ts'

/** A value that is invalidated while it is fetched is fetched again, but only this often. */
const maxAttempts = 3

/** How long the source is not asked again after a fetch failed, unless an option says so. */
const errorBackoffMs = 1000

function staleResult(entry: Entry): LookupResult {
  return cached(entry, true, entry.id === 0 ? 'memory' : 'redis')
}

/** Fetches the value of a flight and keeps it in both levels. */
export class Fill {
  readonly #l1: L1
  readonly #fetches: Fetches
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor

  constructor(l1: L1, fetches: Fetches, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#fetches = fetches
    this.#options = options
    this.#monitor = monitor
  }

  /**
   * Stores in Redis if there is a lock. `known` is what may be returned if the fetch fails, or takes longer than its
   * soft deadline.
   */
  async run(flight: Flight, lock: FillLock | undefined, known: Entry | undefined): Promise<LookupResult> {
    lock?.hold()
    const filling = this.#fill(flight, lock, known)
    const softMs = this.#rule(flight, 'softDeadlineMs')
    if (known === undefined || softMs === undefined) return filling
    const { clock } = this.#options
    const late = Symbol('late')
    return withinTime(filling, { ms: softMs, clock, late: () => late }).catch((error) => {
      if (error !== late || this.#l1.stateOfHeld(known, flight) === 'none') return filling
      // Until the fetch has ended, nobody else has to wait for it.
      known.retryAtMs = this.#l1.nowMs() + flight.fetchDeadlineMs(this.#options)
      return staleResult(known)
    })
  }

  async #fill(flight: Flight, lock: FillLock | undefined, known: Entry | undefined): Promise<LookupResult> {
    try {
      return await this.#attempt(flight, lock, known, 1)
    } catch (error) {
      if (known === undefined || this.#l1.stateOfHeld(known, flight) === 'none') throw error
      const baseMs = this.#rule(flight, 'errorBackoffMs') ?? errorBackoffMs
      const waitMs = backoffMs(known.failures, this.#options.random, { baseMs, maxMs: 30 * baseMs })
      known.failures += 1
      known.retryAtMs = this.#l1.nowMs() + waitMs
      return staleResult(known)
    } finally {
      flight.over()
      // Does nothing after a value was stored.
      lock?.release()
    }
  }

  #rule(flight: Flight, name: 'softDeadlineMs' | 'errorBackoffMs'): number | undefined {
    return firstRule([flight.rules, flight.key.spec.options, this.#options.rules], name)
  }

  async #attempt(
    flight: Flight,
    lock: FillLock | undefined,
    known: Entry | undefined,
    attempt: number,
  ): Promise<LookupResult> {
    const { key } = flight
    const { view } = this.#l1
    const sinceMs = this.#options.clock.monotonic() - this.#options.replicaLagMs
    const afterInvalidation = attempt > 1 || view.heardSince(key.encoded, known?.scopes ?? key.prefixScopes, sinceMs)
    const fetched = await this.#fetches.run(flight, afterInvalidation, known)
    const { value, tookMs, stamp, beganAt, etag, isSkipped } = fetched
    const source = { value, rules: flight.rules, stamp, fetchMs: Math.max(1, Math.ceil(tookMs)), etag }
    const made = isSkipped ? undefined : makeEntry(key, source, this.#l1.nowMs(), this.#options, this.#monitor)
    const unstamped = { key: key.encoded, scopes: key.prefixScopes, generation: undefined, sequence: 0 }
    const validity = flight.invalidated ? 'invalid' : view.judge(made?.entry ?? { ...unstamped, ...stamp })
    const { replacement } = flight
    if (validity === 'invalid' && replacement !== undefined && view.judge(replacement) === 'valid')
      return cached(replacement, !this.#l1.isFresh(replacement), 'memory')
    if (validity === 'invalid' && attempt < maxAttempts) {
      // The flight that callers of the key join now.
      const newer = flight.slot.flight
      if (newer === undefined || newer === flight) return this.#attempt(flight, lock, undefined, attempt + 1)
      lock?.release()
      return newer.result
    }
    if (made !== undefined && validity !== 'invalid') {
      this.#l1.keep(made.entry, validity)
      lock?.store(made.entry, made)
    }
    const isProven = this.#isYoung(beganAt) || (validity === 'valid' && this.#l1.isProven())
    return {
      value: made ? made.entry.value : value,
      stale: validity === 'invalid' || !isProven,
      from: 'fetch',
      entry: made?.entry,
    }
  }

  /** Strict invalidation waits for `proofMs`; data that was read after it began is newer. */
  #isYoung(beganAt: Instant): boolean {
    const { monotonicMs, wallMs } = this.#l1.instant()
    return passedMs(beganAt, monotonicMs, wallMs) < this.#options.proofMs
  }
}
