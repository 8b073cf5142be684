import { SluiceError } from '../../core/errors.ts'
import { Gate } from '../../runtime/gate.ts'
import { withinTime } from '../../runtime/within-time.ts'
import type { FetchContext } from '../cache.ts'
import type { Entry } from '../l1/entry.ts'
import type { L1 } from '../l1/l1.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Instant } from '../protocol/instant.ts'
import type { Position } from '../protocol/messages.ts'
import type { Flight } from './flight.ts'

/** The result of a fetch, with what is needed to judge and keep it. */
export interface Fetched {
  readonly value: unknown
  readonly tookMs: number
  readonly beganAt: Instant
  /** The position of the view when it began. */
  readonly stamp: Position | undefined
  readonly etag: string | undefined
  /** Whether the fetch wants its value not to be kept. */
  readonly isSkipped: boolean
}

/** Runs fetches: so many of one name at a time, each with its own deadline and signal. */
export class Fetches {
  readonly #l1: L1
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #gates = new Map<string, Gate>()
  readonly #closing = new AbortController()
  #calling: Flight | undefined

  constructor(l1: L1, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#options = options
    this.#monitor = monitor
  }

  /** Ends all fetches by their signals. */
  close(): void {
    this.#closing.abort(new SluiceError('SLUICE_CLOSED', 'The cache was closed during the fetch.'))
  }

  /** The flight whose fetch is being called: what is looked up before it first waits is looked up by it. */
  get calling(): Flight | undefined {
    return this.#calling
  }

  /** Fetches the value of a flight, when it may start. `known` is the stale value, if there is one. */
  async run(flight: Flight, afterInvalidation: boolean, known: Entry | undefined): Promise<Fetched> {
    const start = (): Promise<Fetched> => this.#start(flight, new FetchArgument(afterInvalidation, known, this.#l1))
    return flight.fetch.isGrouped ? start() : this.inTurn(flight.key.spec.name, start, flight)
  }

  /** Runs a fetch of a name when it may start: in a free place, or in that of a fetch that waits for it. */
  async inTurn<T>(name: string, fetch: () => Promise<T>, flight?: Flight): Promise<T> {
    const gate = this.#gate(name)
    if (gate.tryEnter()) return this.#inside(gate, fetch, flight)
    const lent = flight?.parent?.place
    const entered = lent ?? gate
    if (!lent?.tryEnter()) await entered.turn()
    return this.#inside(entered, fetch, flight)
  }

  async #inside<T>(gate: Gate, fetch: () => Promise<T>, flight: Flight | undefined): Promise<T> {
    const { clock } = this.#options
    if (flight) flight.place = new Gate({ limit: 1, queue: Infinity, clock, refusal: () => new Error('refused') })
    try {
      return await fetch()
    } finally {
      gate.leave()
    }
  }

  async #start(flight: Flight, argument: FetchArgument): Promise<Fetched> {
    const { clock } = this.#options
    const { name } = flight.key.spec
    const ms = flight.fetchDeadlineMs(this.#options)
    this.#closing.signal.throwIfAborted()
    // The stamp is taken before the data is read: any invalidation from here on may concern the data.
    const stamp = this.#l1.view.position
    const beganAt = this.#l1.instant()
    flight.stamp = stamp
    flight.invalidated = false
    this.#monitor.count.fetches += 1
    const tookMs = (): number => clock.monotonic() - beganAt.monotonicMs
    let failure: unknown
    let failed = true
    try {
      const value = await withinTime(this.#call(flight, argument), {
        ms,
        clock,
        signal: this.#closing.signal,
        late: () => tooLate(name, ms),
        givenUp: (reason) => argument.abort(reason),
      })
      failed = false
      const { etag, isSkipped } = argument
      return { value, tookMs: tookMs(), beganAt, stamp, etag, isSkipped }
    } catch (error) {
      failure = error
      throw error
    } finally {
      this.#monitor.fetched(name, tookMs(), failed, failure)
    }
  }

  #call(flight: Flight, argument: FetchArgument): Promise<unknown> {
    const before = this.#calling
    this.#calling = flight
    try {
      return argument.passTo(flight.fetch)
    } finally {
      this.#calling = before
    }
  }

  #gate(name: string): Gate {
    const known = this.#gates.get(name)
    if (known !== undefined) return known
    const { clock, maxFetches: limit, queueDeadlineMs: maxWaitMs } = this.#options
    const refusal = (): SluiceError => {
      this.#monitor.refused(name)
      const text = `${limit} fetches of ${name} are under way and none ended within ${maxWaitMs} ms`
      return new SluiceError('SLUICE_REFUSED', text, { transient: true })
    }
    const gate = new Gate({ limit, queue: Infinity, maxWaitMs, clock, refusal })
    this.#gates.set(name, gate)
    return gate
  }
}

/** What a fetch is called with. Most do not use the signal, and making one costs more than the rest of the call. */
class FetchArgument implements FetchContext {
  readonly afterInvalidation: boolean
  readonly stale: FetchContext['stale']
  etag: string | undefined
  isSkipped = false
  #controller: AbortController | undefined
  #reason: unknown

  constructor(afterInvalidation: boolean, known: Entry | undefined, l1: L1) {
    this.afterInvalidation = afterInvalidation
    this.stale = known && { value: known.value, etag: known.etag, ageMs: l1.nowMs() - known.madeAtMs }
  }

  skip(): void {
    this.isSkipped = true
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  async passTo(fetch: Flight['fetch']): Promise<unknown> {
    return fetch(this)
  }

  abort(reason: unknown): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}

function tooLate(name: string, fetchDeadlineMs: number): SluiceError {
  const text = `the fetch of ${name} took longer than ${fetchDeadlineMs} ms; one that looks up its own key never ends`
  return new SluiceError('SLUICE_TIMEOUT', text, { transient: true })
}
