import { SluiceError } from '../../core/errors.ts'
import type { FetchContext } from '../cache.ts'
import type { L1 } from '../l1/l1.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Instant, Position } from '../protocol/messages.ts'
import { FetchGate } from './fetch-gate.ts'
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
  readonly #gates = new Map<string, FetchGate>()
  /** By what running fetches are ended. */
  readonly #running = new Set<(reason: SluiceError) => void>()
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
    for (const abort of [...this.#running]) abort(reason)
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
    // The stamp is taken before the data is read: any invalidation from here on may concern the data.
    const stamp = this.#l1.view.position
    const beganAt = this.#l1.instant()
    flight.stamp = stamp
    flight.invalidated = false
    this.#monitor.count.fetches += 1
    const tookMs = (): number => clock.monotonic() - beganAt.monotonicMs
    let failure: unknown
    let failed = true
    const call = new FetchCall(flight, afterInvalidation)
    this.#running.add(call.abort)
    const timer = clock.setTimeout(() => {
      const text = `the fetch of ${name} took longer than ${fetchDeadlineMs} ms`
      call.abort(new SluiceError('SLUICE_FETCH_TIMEOUT', text, { transient: true }))
    }, fetchDeadlineMs)
    try {
      const value = await call.value
      failed = false
      return { value, tookMs: tookMs(), beganAt, stamp }
    } catch (error) {
      failure = error
      throw error
    } finally {
      clock.clearTimeout(timer)
      this.#running.delete(call.abort)
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

/** A call of the user's function. A call that ignores its signal is no longer awaited after an abort. */
class FetchCall {
  readonly value: Promise<unknown>
  readonly abort: (reason: SluiceError) => void

  constructor({ fetch }: Flight, afterInvalidation: boolean) {
    let reject: (reason: unknown) => void = () => undefined
    let controller: AbortController | undefined
    let aborted: SluiceError | undefined
    const context: FetchContext = {
      // Most functions do not use it, and making one costs more than the rest of the call.
      get signal() {
        controller ??= new AbortController()
        if (aborted !== undefined) controller.abort(aborted)
        return controller.signal
      },
      afterInvalidation,
    }
    this.value = new Promise((resolve, fail) => {
      reject = fail
      // Not `resolve(promise)`: an abort could not reject it any more.
      Promise.resolve(fetch(context)).then(resolve, fail)
    })
    this.abort = (reason) => {
      aborted = reason
      controller?.abort(reason)
      reject(reason)
    }
  }
}
