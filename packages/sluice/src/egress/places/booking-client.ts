import type { Clock, Timer } from '../../core/clock.ts'
import type { BookStep, ExchangeReply, SettlingStep, Step, StepResult, Units } from '../booking/messages.ts'
import { noTicks } from '../booking/state.ts'
import { type RefusalReason, RefusedError } from '../egress-error.ts'
import type { Booker, BookerOptions, Booking, BookingObserver } from './booker.ts'
import { ExchangeLoop, type GrantBounds, type PendingStep } from './exchange-loop.ts'
import { Grant, type GrantOwner } from './grant.ts'
import { heldUnits, recoveryMs } from './held-units.ts'
import type { OutageMode } from './outage.ts'
import { PlaceReturns } from './place-returns.ts'
import type { InProcessBooking } from './ports/booking-port.ts'
import type { Waiter } from './waiter.ts'

const nothing = (): void => {}

/** A grant may be used for this long after it was requested; then it is returned and the call books again. */
export const graceMs = 1000
/** How often a process renews itself while it has anything in shared state. */
const renewMs = 1000

/**
 * This process' side of the booking of one upstream: which calls wait here, which places are held here, and when they
 * are free again.
 */
export class BookingClient implements Booker, GrantOwner {
  readonly #options: BookerOptions
  readonly #clock: Clock
  readonly #loop: ExchangeLoop
  readonly #inProcess: InProcessBooking | undefined
  readonly #waiters = new Map<string, Waiter>()
  readonly #grants = new Map<string, Grant>()
  readonly #returns: PlaceReturns
  readonly #stopListening: () => void
  /** Of the exchange whose reply is being read. */
  #bounds: GrantBounds = { sentMs: 0, arriveByMs: Infinity }
  #sequence = 0
  #recovering: string | undefined
  #renewTimer: Timer | undefined
  #wakeTimer: Timer | undefined
  /** Whether places were taken without an exchange. */
  #hasHeld = false
  #closed = false
  #last: ExchangeReply | undefined

  constructor(options: BookerOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#inProcess = options.port.inProcess?.(options.upstream, options.owner)
    this.#loop = new ExchangeLoop({
      ...options,
      known: () => this.#known(),
      held: () => heldUnits(this.#options.rules().limits, this.#returns.all(), this.#grants.values()),
      onBounds: (bounds) => {
        this.#bounds = bounds
      },
      onReply: (reply) => this.#replied(reply),
      onFailure: (error) => {
        for (const waiter of this.#waiters.values()) this.#armLeave(waiter)
        options.onFailure(error)
      },
    })
    this.#returns = new PlaceReturns(options.clock, (limit, tick) => this.#loop.add({ op: 'free', limit, tick }))
    this.#stopListening = options.port.listen(options.upstream, options.owner, () => this.#loop.exchangeSoon())
  }

  readonly marginMs = 0

  get waiting(): number {
    return this.#waiters.size
  }

  get inFlight(): number {
    return this.#grants.size
  }

  get last(): ExchangeReply | undefined {
    return this.#last
  }

  get outage(): OutageMode | undefined {
    return this.#loop.mode
  }

  book(booking: Booking, observer: BookingObserver, nowMs: number): () => void {
    if (this.#closed) {
      observer.refused(new RefusedError('closed', this.#options.upstream))
      return nothing
    }
    const id = `${this.#options.owner}.${(++this.#sequence).toString(36)}`
    // Calls that already wait here come first.
    if (this.#waiters.size === 0 && this.#holdNow(id, booking, observer, nowMs)) return nothing
    const waiter: Waiter = { id, booking, observer, leave: undefined, ahead: 0, likelyMs: 0, parked: undefined }
    this.#waiters.set(id, waiter)
    // An answer takes no longer than this; only then is it certain that the call waits.
    if (booking.maxWaitMs < this.#options.deadlineMs * 2) this.#armLeave(waiter)
    this.#request(waiter)
    return () => {
      if (!this.#waiters.has(id)) return
      this.#forget(waiter)
      this.#loop.add({ op: 'cancel', id })
    }
  }

  /** In process a place that is free is taken at once. */
  #holdNow(id: string, booking: Booking, observer: BookingObserver, nowMs: number): boolean {
    if (this.#inProcess === undefined) return false
    const { units, arrivedMs } = booking
    if (!this.#inProcess.hold(this.#options.rules(), id, booking, nowMs)) return false
    this.#hasHeld = true
    const about = { id, units, waitedMs: nowMs - arrivedMs, notAfterMs: nowMs + graceMs, arriveByMs: Infinity }
    const grant = new Grant(this, about)
    this.#grants.set(id, grant)
    if (this.#renewTimer === undefined) this.#armRenew()
    observer.granted(grant)
    return true
  }

  ask(step: Step): Promise<StepResult | undefined> {
    return new Promise((resolve) => this.#loop.add(step, resolve))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const waiter of [...this.#waiters.values()]) {
      this.#forget(waiter)
      this.#loop.add({ op: 'cancel', id: waiter.id })
      waiter.observer.refused(new RefusedError('closed', this.#options.upstream))
    }
    this.#returns.close()
    for (const timer of [this.#renewTimer, this.#wakeTimer]) this.#clock.clearTimeout(timer)
    this.#loop.close()
    if (this.#loop.hasBegun || this.#hasHeld) await this.ask({ op: 'leave' })
    this.#stopListening()
  }

  // Reports of grants.

  cancelled(grant: Grant): void {
    this.#grants.delete(grant.id)
    this.#loop.add({ op: 'cancel', id: grant.id })
  }

  answered(grant: Grant): void {
    const nowMs = this.#clock.monotonic()
    grant.ticks = this.#returns.answered(this.#options.rules().limits, grant.units, nowMs)
    this.#settle({ op: 'answered', id: grant.id, ticks: grant.ticks }, nowMs)
  }

  done(grant: Grant, units: Units | undefined): void {
    this.#grants.delete(grant.id)
    if (units === undefined) this.#settle({ op: 'done', id: grant.id, ticks: noTicks })
    else {
      const nowMs = this.#clock.monotonic()
      const ticks = this.#returns.correct(this.#options.rules().limits, grant, units, nowMs)
      this.#settle({ op: 'done', id: grant.id, units, ticks }, nowMs)
    }
  }

  /** Reports what happened to a call: in process at once, otherwise with the next exchange. */
  #settle(step: SettlingStep, nowMs?: number): void {
    if (this.#inProcess === undefined) this.#loop.add(step)
    else if (this.#inProcess.settle(this.#options.rules(), step, nowMs)) this.#loop.exchangeSoon()
  }

  // Waiters

  #request(waiter: Waiter): void {
    waiter.parked = undefined
    this.#loop.add(this.#bookStep(waiter), (result) => this.#booked(waiter, result))
  }

  #bookStep({ id, booking }: Waiter): BookStep {
    const { tenant, weight, priorityMs, arrivedMs, scope, units, first } = booking
    const waitedMs = this.#clock.monotonic() - arrivedMs
    const maxWaitMs = Math.max(0, this.#leftMs(booking))
    return { op: 'book', id, tenant, weight, priorityMs, waitedMs, maxWaitMs, scope, units, first }
  }

  #leftMs({ maxWaitMs, arrivedMs }: Booking): number {
    return maxWaitMs - (this.#clock.monotonic() - arrivedMs)
  }

  #booked(waiter: Waiter, result: StepResult | undefined): void {
    if (result === undefined || !this.#waiters.has(waiter.id)) return
    if (result.is === 'held') this.#grant(waiter.id)
    else if (result.is === 'paused') this.#park(waiter, result.ms)
    else if (result.is === 'full' || result.is === 'too-long') {
      const reason = result.is === 'full' ? 'queue-full' : 'wait-too-long'
      this.#refuse(waiter, reason, result.ahead, result.earliestMs)
    } else if (result.is === 'queued') {
      waiter.ahead = result.ahead
      waiter.likelyMs = this.#clock.monotonic() + result.earliestMs
      this.#armLeave(waiter)
    }
  }

  /** Its scope is paused: it books again when the pause is over, at its old position in the queue. */
  #park(waiter: Waiter, ms: number): void {
    if (ms > this.#leftMs(waiter.booking)) this.#refuse(waiter, 'wait-too-long', 0, ms)
    else {
      this.#armLeave(waiter)
      waiter.parked = this.#clock.setTimeout(() => this.#request(waiter), ms + 1)
    }
  }

  #refuse(waiter: Waiter, reason: RefusalReason, ahead: number, retryAfterMs: number): void {
    this.#forget(waiter)
    const { tenant } = waiter.booking
    const about = { retryAfterMs, position: ahead + 1, tenant }
    waiter.observer.refused(new RefusedError(reason, this.#options.upstream, about))
  }

  #armLeave(waiter: Waiter): void {
    waiter.leave ??= this.#clock.setTimeout(() => this.#leaveQueue(waiter), Math.max(0, this.#leftMs(waiter.booking)))
  }

  #leaveQueue(waiter: Waiter): void {
    this.#loop.add({ op: 'cancel', id: waiter.id })
    const retryAfterMs = Math.max(0, Math.ceil(waiter.likelyMs - this.#clock.monotonic()))
    this.#refuse(waiter, 'wait-too-long', waiter.ahead, retryAfterMs)
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter.id)
    this.#clock.clearTimeout(waiter.leave)
    this.#clock.clearTimeout(waiter.parked)
  }

  #grant(id: string): void {
    const waiter = this.#waiters.get(id)
    if (waiter === undefined) {
      // The caller has cancelled; the cancel step may have been sent too late for this reply.
      if (!this.#grants.has(id)) this.#loop.add({ op: 'cancel', id })
      return
    }
    this.#forget(waiter)
    const { sentMs, arriveByMs } = this.#bounds
    const { units, arrivedMs } = waiter.booking
    const waitedMs = this.#clock.monotonic() - arrivedMs
    const grant = new Grant(this, { id, units, waitedMs, notAfterMs: sentMs + graceMs, arriveByMs })
    this.#grants.set(id, grant)
    waiter.observer.granted(grant)
  }

  #replied(reply: ExchangeReply): void {
    this.#last = reply
    for (const id of reply.held) this.#grant(id)
    for (const { id, ms } of reply.paused) {
      const waiter = this.#waiters.get(id)
      if (waiter) this.#park(waiter, ms)
    }
    if (reply.adopted.length > 0) this.#returns.adopt(this.#options.rules().limits, reply.adopted)
    this.#armRenew()
    this.#armWake(reply)
    this.#watchRecovery(reply)
  }

  /** All that is taken here, and all that wait here; waiters whose scope is paused book by themselves. */
  #known(): PendingStep[] {
    const calls = Array.from(this.#grants.values(), ({ id, units, ticks, isAnswered }) => ({
      ...{ id, units },
      ...(isAnswered ? { ticks } : {}),
    }))
    const groups = this.#returns.all().map(({ limit, tick, units }) => ({ limit, tick, units }))
    const steps: PendingStep[] = [{ step: { op: 'register', calls, groups }, settle: undefined }]
    for (const waiter of this.#waiters.values()) {
      if (waiter.parked !== undefined) continue
      steps.push({ step: this.#bookStep(waiter), settle: (result) => this.#booked(waiter, result) })
    }
    return steps
  }

  // Timers. None keeps the process alive: every waiter has one that does.

  #armRenew(): void {
    this.#clock.clearTimeout(this.#renewTimer)
    this.#renewTimer = undefined
    if (this.#closed || (this.#waiters.size === 0 && this.#grants.size === 0 && this.#returns.size === 0)) return
    this.#renewTimer = this.#clock.setTimeout(() => this.#loop.exchangeSoon(), renewMs)
    this.#renewTimer.unref?.()
  }

  #armWake({ wakeMs }: ExchangeReply): void {
    this.#clock.clearTimeout(this.#wakeTimer)
    if (this.#closed || wakeMs < 0 || this.#waiters.size === 0) return
    this.#wakeTimer = this.#clock.setTimeout(() => this.#loop.exchangeSoon(), wakeMs + 1)
    this.#wakeTimer.unref?.()
  }

  /** Nothing is granted until a period has passed since a process noticed the loss, by that process' own clock. */
  #watchRecovery({ recovering, epoch }: ExchangeReply): void {
    if (!recovering || this.#recovering === epoch) return
    this.#recovering = epoch
    const waitMs = recoveryMs(this.#options.rules().limits)
    const timer = this.#clock.setTimeout(() => {
      if (!this.#closed) this.#loop.add({ op: 'recovered', epoch })
    }, waitMs + 1)
    timer.unref?.()
  }
}
