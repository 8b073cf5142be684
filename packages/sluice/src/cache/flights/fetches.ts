import { SluiceError } from '../../core/errors.ts'
import { Gate } from '../../runtime/gate.ts'
import { withinTime } from '../../runtime/within-time.ts'
import type { FetchContext } from '../cache.ts'
import type { L1 } from '../l1/l1.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Instant, Position } from '../protocol/messages.ts'
import type { Flight } from './flight.ts'

/** The result of a fetch, with what is needed to judge and keep it. */
export interface Fetched {
  readonly value: unknown
  readonly tookMs: number
  readonly beganAt: Instant
  /** The position of the view when it began. */
  readonly stamp: Position | undefined
}

/** Runs fetches: so many of one name at a time, each with its own deadline and signal. */
export class Fetches {
  readonly #l1: L1
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #gates = new Map<string, Gate>()
  readonly #closing = new AbortController()

  constructor(l1: L1, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#options = options
    this.#monitor = monitor
  }

  /** Ends all fetches by their signals. */
  close(): void {
    this.#closing.abort(new SluiceError('SLUICE_CLOSED', 'The cache was closed during the fetch.'))
  }

  /** Fetches the value of a flight, when it may start. */
  async run(flight: Flight, afterInvalidation: boolean): Promise<Fetched> {
    const { clock, fetchDeadlineMs } = this.#options
    const { name } = flight.key.spec
    const gate = this.#gate(name)
    if (!gate.tryEnter()) await gate.turn()
    if (this.#closing.signal.aborted) {
      gate.leave()
      throw this.#closing.signal.reason
    }
    // The stamp is taken before the data is read: any invalidation from here on may concern the data.
    const stamp = this.#l1.view.position
    const beganAt = this.#l1.instant()
    flight.stamp = stamp
    flight.invalidated = false
    this.#monitor.count.fetches += 1
    const tookMs = (): number => clock.monotonic() - beganAt.monotonicMs
    let failure: unknown
    let failed = true
    const argument = new FetchArgument(afterInvalidation)
    try {
      const value = await withinTime(argument.passTo(flight.fetch), {
        ms: fetchDeadlineMs,
        clock,
        signal: this.#closing.signal,
        late: () => tooLate(name, fetchDeadlineMs),
        givenUp: (reason) => argument.abort(reason),
      })
      failed = false
      return { value, tookMs: tookMs(), beganAt, stamp }
    } catch (error) {
      failure = error
      throw error
    } finally {
      gate.leave()
      this.#monitor.fetched(name, tookMs(), failed, failure)
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
  #controller: AbortController | undefined
  #reason: unknown

  constructor(afterInvalidation: boolean) {
    this.afterInvalidation = afterInvalidation
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
  const text = `the fetch of ${name} took longer than ${fetchDeadlineMs} ms`
  return new SluiceError('SLUICE_TIMEOUT', text, { transient: true })
}
