import { SluiceError } from '../../core/errors.ts'
import type { L1 } from '../l1/l1.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Moment, Position } from '../protocol/messages.ts'
import { FetchGate } from './fetch-gate.ts'
import type { Flight } from './flight.ts'

/** The result of a fetch, with what is needed to judge and keep it. */
export interface Fetched {
  readonly value: unknown
  readonly tookMs: number
  readonly beganAt: Moment
  /** The position of the view when it began. */
  readonly stamp: Position | undefined
}

/** Runs fetches: so many of one name at a time, each with its own deadline and signal. */
export class Fetches {
  readonly #l1: L1
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #gates = new Map<string, FetchGate>()
  readonly #running = new Set<AbortController>()
  #closed = false

  constructor(l1: L1, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#options = options
    this.#monitor = monitor
  }

  /** Ends all fetches by their signals. */
  close(): void {
    this.#closed = true
    const reason = new SluiceError('SLUICE_CLOSED', 'the cache was closed during the fetch')
    for (const controller of this.#running) controller.abort(reason)
  }

  /** Fetches the value of a flight, when it may start. */
  async run(flight: Flight, afterInvalidation: boolean): Promise<Fetched> {
    const { clock, maxFetches, queueDeadlineMs, fetchDeadlineMs } = this.#options
    const { name } = flight.key.spec
    const gate = this.#gate(name)
    if (!(await gate.enter())) {
      this.#monitor.refused(name)
      const text = `${maxFetches} fetches of ${name} are under way and none ended within ${queueDeadlineMs} ms`
      throw new SluiceError('SLUICE_CACHE_BUSY', text, { transient: true })
    }
    if (this.#closed) {
      gate.leave()
      throw new SluiceError('SLUICE_CLOSED', 'the cache was closed before the fetch began')
    }
    const controller = new AbortController()
    const { signal } = controller
    this.#running.add(controller)
    // The stamp is taken before the data is read: any invalidation from here on may concern the data.
    const stamp = this.#l1.view.position
    const beganAt = this.#l1.moment()
    flight.stamp = stamp
    flight.dead = false
    const timer = clock.setTimeout(() => {
      const text = `the fetch of ${name} took longer than ${fetchDeadlineMs} ms`
      controller.abort(new SluiceError('SLUICE_FETCH_TIMEOUT', text, { transient: true }))
    }, fetchDeadlineMs)
    // A fetch that ignores its signal is no longer awaited.
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    const tookMs = (): number => clock.monotonic() - beganAt.monotonicMs
    this.#monitor.count.fetches += 1
    let failure: unknown
    let failed = true
    try {
      const work = (async () => flight.fetch({ signal, afterInvalidation }))()
      const value = await Promise.race([work, aborted])
      failed = false
      return { value, tookMs: tookMs(), beganAt, stamp }
    } catch (error) {
      failure = error
      throw error
    } finally {
      clock.clearTimeout(timer)
      this.#running.delete(controller)
      gate.leave()
      this.#monitor.fetched(name, tookMs(), failed, failure)
    }
  }

  #gate(name: string): FetchGate {
    let gate = this.#gates.get(name)
    if (gate === undefined) {
      gate = new FetchGate(this.#options.maxFetches, this.#options.queueDeadlineMs, this.#options.clock)
      this.#gates.set(name, gate)
    }
    return gate
  }
}
