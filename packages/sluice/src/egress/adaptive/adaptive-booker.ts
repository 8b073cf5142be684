import type { Clock, Timer } from '../../core/clock.ts'
import type { AdaptiveConcurrency } from '../../policy/upstream/upstream.ts'
import type { ExchangeReply, Step, StepResult, Units } from '../booking/messages.ts'
import { RefusedError } from '../egress-error.ts'
import type { Booked, Booker, Booking } from '../places/booker.ts'
import { Grant, type GrantOwner } from '../places/grant.ts'
import type { OutageMode } from '../places/outage.ts'
import { afterLatency, afterRefusal, type Gradient, limitOf, newGradient } from './gradient.ts'

interface Waiter {
  readonly booking: Booking
  readonly resolve: (grant: Grant) => void
  readonly reject: (error: Error) => void
  readonly leave: Timer
}

interface Held {
  readonly inner: Grant
  readonly sinceMs: number
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
export class AdaptiveBooker implements Booker, GrantOwner {
  readonly #options: AdaptiveOptions
  readonly #waiters = new Set<Waiter>()
  readonly #held = new Map<Grant, Held>()
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
    return this.#held.size
  }

  get last(): ExchangeReply | undefined {
    return this.#options.inner.last
  }

  get outage(): OutageMode | undefined {
    return this.#options.inner.outage
  }

  get marginMs(): number {
    return this.#options.inner.marginMs
  }

  book(booking: Booking): Booked {
    if (this.#waiters.size === 0 && this.#isFree) return this.#start(booking)
    const { clock, upstream, maxQueue } = this.#options
    const about = { position: this.#waiters.size + 1, tenant: booking.tenant }
    if (this.#waiters.size >= maxQueue())
      return { grant: Promise.reject(new RefusedError('queue-full', upstream, about)), giveUp: () => undefined }
    let giveUp: (error: Error) => void = () => undefined
    const grant = new Promise<Grant>((resolve, reject) => {
      const leftMs = Math.max(0, booking.maxWaitMs - (clock.monotonic() - booking.arrivedMs))
      const leave = clock.setTimeout(() => giveUp(new RefusedError('wait-too-long', upstream, about)), leftMs)
      const waiter: Waiter = { booking, resolve, reject, leave }
      this.#waiters.add(waiter)
      giveUp = (error) => {
        clock.clearTimeout(leave)
        if (this.#waiters.delete(waiter)) reject(error)
      }
    })
    return { grant, giveUp: (error) => giveUp(error) }
  }

  ask(step: Step): Promise<StepResult | undefined> {
    return this.#options.inner.ask(step)
  }

  /** The vendor did not answer in time, or refused. */
  refused(kind: 'timeout' | 'limited'): void {
    this.#gradient = afterRefusal(this.#gradient, kind, this.#options.bounds)
  }

  async close(): Promise<void> {
    for (const { reject, leave } of this.#waiters) {
      this.#options.clock.clearTimeout(leave)
      reject(new RefusedError('closed', this.#options.upstream))
    }
    this.#waiters.clear()
    await this.#options.inner.close()
  }

  cancelled(grant: Grant): void {
    this.#held.get(grant)?.inner.cancel()
    this.#release(grant)
  }

  answered(grant: Grant): void {
    const held = this.#held.get(grant)
    if (held === undefined) return
    const latencyMs = this.#options.clock.monotonic() - held.sinceMs
    this.#gradient = afterLatency(this.#gradient, latencyMs, this.#held.size, this.#options.bounds)
    held.inner.answer()
  }

  done(grant: Grant, units: Units | undefined): void {
    this.#held.get(grant)?.inner.finish(units)
    this.#release(grant)
  }

  get #isFree(): boolean {
    return this.#held.size + this.#booking < this.limit
  }

  #start(booking: Booking): Booked {
    this.#booking += 1
    const booked = this.#options.inner.book(booking)
    const grant = booked.grant.then(
      (inner) => {
        this.#booking -= 1
        const outer = new Grant(this, inner)
        this.#held.set(outer, { inner, sinceMs: this.#options.clock.monotonic() })
        return outer
      },
      (error) => {
        this.#booking -= 1
        this.#next()
        throw error
      },
    )
    return { grant, giveUp: booked.giveUp }
  }

  #release(grant: Grant): void {
    this.#held.delete(grant)
    this.#next()
  }

  #next(): void {
    for (const waiter of this.#waiters) {
      if (!this.#isFree) return
      this.#waiters.delete(waiter)
      this.#options.clock.clearTimeout(waiter.leave)
      this.#start(waiter.booking).grant.then(waiter.resolve, waiter.reject)
    }
  }
}
