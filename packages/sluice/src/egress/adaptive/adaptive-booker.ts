import type { Clock, Timer } from '../../core/clock.ts'
import type { AdaptiveConcurrency } from '../../policy/upstream/upstream.ts'
import type { ExchangeReply, Step, StepResult } from '../booking/messages.ts'
import { RefusedError } from '../egress-error.ts'
import type { Booker, Booking, BookingObserver } from '../places/booker.ts'
import type { Grant, GrantWatcher } from '../places/grant.ts'
import type { OutageMode } from '../places/outage.ts'
import { afterLatency, afterRefusal, type Gradient, limitOf, newGradient } from './gradient.ts'

/** What a call counts as taking while that was not measured. */
const unknownMs = 1000

interface Waiter {
  readonly booking: Booking
  readonly observer: BookingObserver
  readonly leave: Timer
  /** Cancels its booking. */
  giveUp: (() => void) | undefined
}

export interface AdaptiveOptions {
  readonly inner: Booker
  readonly clock: Clock
  readonly upstream: string
  readonly bounds: AdaptiveConcurrency
  readonly maxQueue: () => number
}

/**
 * Holds back calls of this process beyond a limit in flight that follows the vendor's latency, before they book. Each
 * process finds its own limit; a vendor that gets slower for all of them slows down all of them.
 */
export class AdaptiveBooker implements Booker, GrantWatcher {
  readonly #options: AdaptiveOptions
  readonly #waiters = new Set<Waiter>()
  #inFlight = 0
  #booking = 0
  #gradient: Gradient

  constructor(options: AdaptiveOptions) {
    this.#options = options
    this.#gradient = newGradient(options.bounds)
  }

  /** How many calls may be in flight now. */
  get limit(): number {
    return limitOf(this.#gradient, this.#options.bounds)
  }

  get waiting(): number {
    return this.#waiters.size + this.#options.inner.waiting
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get last(): ExchangeReply | undefined {
    return this.#options.inner.last
  }

  get widenedMs(): number {
    return this.#options.inner.widenedMs
  }

  get outage(): OutageMode | undefined {
    return this.#options.inner.outage
  }

  book(booking: Booking, observer: BookingObserver, nowMs: number): () => void {
    if (this.#waiters.size === 0 && this.#isFree) return this.#start(booking, observer, nowMs)
    const { clock, upstream, maxQueue } = this.#options
    const about = { position: this.#waiters.size + 1, tenant: booking.tenant, retryAfterMs: this.#drainMs }
    if (this.#waiters.size >= maxQueue()) {
      observer.refused(new RefusedError('queue-full', upstream, about))
      return () => {}
    }
    const leftMs = Math.max(0, booking.maxWaitMs - (nowMs - booking.arrivedMs))
    const leave = clock.setTimeout(() => {
      if (this.#waiters.delete(waiter))
        observer.refused(new RefusedError('wait-too-long', upstream, { ...about, retryAfterMs: this.#drainMs }))
    }, leftMs)
    const waiter: Waiter = { booking, observer, leave, giveUp: undefined }
    this.#waiters.add(waiter)
    return () => {
      clock.clearTimeout(leave)
      this.#waiters.delete(waiter)
      waiter.giveUp?.()
    }
  }

  ask(step: Step): Promise<StepResult | undefined> {
    return this.#options.inner.ask(step)
  }

  /** The vendor did not answer in time, or refused. */
  refused(kind: 'timeout' | 'limited'): void {
    this.#gradient = afterRefusal(this.#gradient, kind, this.#options.bounds)
  }

  async close(): Promise<void> {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const { observer, leave } of waiters) {
      this.#options.clock.clearTimeout(leave)
      observer.refused(new RefusedError('closed', this.#options.upstream))
    }
    await this.#options.inner.close()
  }

  answered({ receivedMs }: Grant): void {
    const latencyMs = this.#options.clock.monotonic() - receivedMs
    this.#gradient = afterLatency(this.#gradient, latencyMs, this.#inFlight, this.#options.bounds)
  }

  over(): void {
    this.#inFlight -= 1
    this.#next()
  }

  /** How long the calls that wait take, by the latency that counts as normal. */
  get #drainMs(): number {
    const eachMs = this.#gradient.normalMs || unknownMs
    return Math.max(1, Math.ceil(((this.#waiters.size + 1) * eachMs) / this.limit))
  }

  get #isFree(): boolean {
    return this.#inFlight + this.#booking < this.limit
  }

  #start(booking: Booking, observer: BookingObserver, nowMs: number): () => void {
    this.#booking += 1
    let isOpen = true
    const end = (): boolean => {
      if (!isOpen) return false
      isOpen = false
      this.#booking -= 1
      return true
    }
    const waiting = {
      granted: (grant: Grant) => {
        end()
        this.#inFlight += 1
        grant.watcher = this
        observer.granted(grant)
      },
      refused: (error: Error) => {
        end()
        observer.refused(error)
        this.#next()
      },
    }
    const giveUp = this.#options.inner.book(booking, waiting, nowMs)
    return () => {
      giveUp()
      if (end()) this.#next()
    }
  }

  #next(): void {
    for (const waiter of this.#waiters) {
      if (!this.#isFree) return
      this.#waiters.delete(waiter)
      this.#options.clock.clearTimeout(waiter.leave)
      waiter.giveUp = this.#start(waiter.booking, waiter.observer, this.#options.clock.monotonic())
    }
  }
}
