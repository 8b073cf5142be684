import type { Clock, Timer } from '../../core/clock.ts'
import type { BookedLimit, BookStep, ExchangeReply, Step, StepResult, Ticks, Units } from '../booking/messages.ts'
import { type RefusalReason, RefusedError } from '../egress-error.ts'
import { AnsweredPlaces } from './answered-places.ts'
import type { Booked, Booker, BookerOptions, Booking } from './booker.ts'
import { ExchangeLoop, type GrantBounds, type PendingStep } from './exchange-loop.ts'
import { Grant, type GrantOwner } from './grant.ts'
import { heldUnits, recoveryMs } from './held-units.ts'
import type { OutageMode } from './outage.ts'
import type { Waiter } from './waiter.ts'

/** A grant may be written on for so long after it was asked for; then it is returned and booked again. */
export const graceMs = 1000
/** A process renews itself so often while it has anything in shared state. */
const renewMs = 1000

/**
 * This process' side of the booking of one upstream: who waits here, which places are held here, and when they come
 * back.
 */
export class BookingClient implements Booker, GrantOwner {
  readonly #options: BookerOptions
  readonly #clock: Clock
  readonly #loop: ExchangeLoop
  readonly #waiters = new Map<string, Waiter>()
  readonly #grants = new Map<string, Grant>()
  readonly #answered = new AnsweredPlaces()
  readonly #stopListening: () => void
  /** Of the exchange whose reply is being read. */
  #bounds: GrantBounds = { sentMs: 0, arriveByMs: Infinity }
  #sequence = 0
  #recovering: string | undefined
  #freeTimer: Timer | undefined
  #freeAtMs = Infinity
  #renewTimer: Timer | undefined
  #wakeTimer: Timer | undefined
  #closed = false
  #last: ExchangeReply | undefined

  constructor(options: BookerOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#loop = new ExchangeLoop({
      ...options,
      known: () => this.#known(),
      held: () => heldUnits(this.#options.rules().limits, this.#answered.all(), this.#grants.values()),
      onBounds: (bounds) => {
        this.#bounds = bounds
      },
      onReply: (reply) => this.#replied(reply),
    })
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

  book(booking: Booking): Booked {
    const id = `${this.#options.owner}.${(++this.#sequence).toString(36)}`
    let giveUp: (error: Error) => void = () => {}
    const grant = new Promise<Grant>((resolve, reject) => {
      if (this.#closed) {
        reject(new RefusedError('closed', this.#options.upstream))
        return
      }
      const leave = this.#clock.setTimeout(() => this.#leaveQueue(waiter), Math.max(0, this.#leftMs(booking)))
      const waiter: Waiter = { id, booking, resolve, reject, leave, ahead: 0, earliestMs: 0, parked: undefined }
      this.#waiters.set(id, waiter)
      this.#ask(waiter)
      giveUp = (error) => {
        if (!this.#waiters.has(id)) return
        this.#forget(waiter)
        this.#loop.add({ op: 'cancel', id })
        reject(error)
      }
    })
    return { grant, giveUp }
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
      waiter.reject(new RefusedError('closed', this.#options.upstream))
    }
    for (const timer of [this.#freeTimer, this.#renewTimer, this.#wakeTimer]) this.#clock.clearTimeout(timer)
    this.#loop.close()
    if (this.#loop.hasBegun) await this.ask({ op: 'leave' })
    this.#stopListening()
  }

  // What a grant reports.

  cancelled(grant: Grant): void {
    this.#grants.delete(grant.id)
    this.#loop.add({ op: 'cancel', id: grant.id })
  }

  answered(grant: Grant): void {
    const { limits } = this.#options.rules()
    const ticks = this.#ticks(limits)
    for (const limit of limits) {
      this.#answered.add(limit, ticks[limit.key]!, Math.min(grant.units[limit.key] ?? 0, limit.amount))
    }
    grant.ticks = ticks
    this.#loop.add({ op: 'answered', id: grant.id, ticks })
    this.#armFree()
  }

  done(grant: Grant, units: Units | undefined): void {
    this.#grants.delete(grant.id)
    const { limits } = this.#options.rules()
    const ticks = this.#ticks(limits)
    for (const limit of units === undefined ? [] : limits) {
      const actual = units?.[limit.key]
      if (actual === undefined) continue
      const difference = actual - Math.min(grant.units[limit.key] ?? 0, limit.amount)
      if (this.#answered.correct(limit.key, grant.ticks[limit.key] ?? '', difference) || difference <= 0) continue
      this.#answered.add(limit, ticks[limit.key]!, difference)
    }
    this.#loop.add({ op: 'done', id: grant.id, ...(units === undefined ? {} : { units }), ticks })
    this.#armFree()
  }

  #ticks(limits: readonly BookedLimit[]): Ticks {
    const nowMs = this.#clock.monotonic()
    return Object.fromEntries(limits.map((limit) => [limit.key, this.#answered.tickOf(limit, nowMs)]))
  }

  // Waiters

  #ask(waiter: Waiter): void {
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
      waiter.earliestMs = result.earliestMs
    }
  }

  /** Its scope is paused: it books again when that is over, at its old place in the order. */
  #park(waiter: Waiter, ms: number): void {
    if (ms > this.#leftMs(waiter.booking)) this.#refuse(waiter, 'wait-too-long', 0, ms)
    else waiter.parked = this.#clock.setTimeout(() => this.#ask(waiter), ms + 1)
  }

  #refuse(waiter: Waiter, reason: RefusalReason, ahead: number, retryAfterMs: number): void {
    this.#forget(waiter)
    const { tenant } = waiter.booking
    waiter.reject(new RefusedError(reason, this.#options.upstream, { retryAfterMs, position: ahead + 1, tenant }))
  }

  #leaveQueue(waiter: Waiter): void {
    this.#loop.add({ op: 'cancel', id: waiter.id })
    this.#refuse(waiter, 'wait-too-long', waiter.ahead, waiter.earliestMs)
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter.id)
    this.#clock.clearTimeout(waiter.leave)
    this.#clock.clearTimeout(waiter.parked)
  }

  #grant(id: string): void {
    const waiter = this.#waiters.get(id)
    if (waiter === undefined) {
      // Nobody waits for it any more; the step that said so may have been overtaken.
      if (!this.#grants.has(id)) this.#loop.add({ op: 'cancel', id })
      return
    }
    this.#forget(waiter)
    const { sentMs, arriveByMs } = this.#bounds
    const waitedMs = this.#clock.monotonic() - waiter.booking.arrivedMs
    const { units } = waiter.booking
    const grant = new Grant(this, { id, units, waitedMs, notAfterMs: sentMs + graceMs, arriveByMs })
    this.#grants.set(id, grant)
    waiter.resolve(grant)
  }

  // Replies

  #replied(reply: ExchangeReply): void {
    this.#last = reply
    for (const id of reply.held) this.#grant(id)
    for (const { id, ms } of reply.paused) {
      const waiter = this.#waiters.get(id)
      if (waiter) this.#park(waiter, ms)
    }
    const { limits } = this.#options.rules()
    const nowMs = this.#clock.monotonic()
    for (const { limit, tick, units } of reply.adopted) {
      const known = limits.find(({ key }) => key === limit)
      this.#answered.adopt(known ?? { key: limit, amount: 1, periodMs: 1 }, tick, units, nowMs)
    }
    this.#armFree()
    this.#armRenew()
    this.#armWake(reply)
    this.#watchRecovery(reply)
  }

  /** All that is taken here, and who waits here; those whose scope is paused book by themselves. */
  #known(): PendingStep[] {
    const calls = Array.from(this.#grants.values(), ({ id, units, ticks, isAnswered }) => ({
      ...{ id, units },
      ...(isAnswered ? { ticks } : {}),
    }))
    const groups = this.#answered.all().map(({ limit, tick, units }) => ({ limit, tick, units }))
    const steps: PendingStep[] = [{ step: { op: 'register', calls, groups }, settle: undefined }]
    for (const waiter of this.#waiters.values()) {
      if (waiter.parked !== undefined) continue
      steps.push({ step: this.#bookStep(waiter), settle: (result) => this.#booked(waiter, result) })
    }
    return steps
  }

  // Timers. None keeps the process alive: whoever waits has one that does.

  #armFree(): void {
    const dueMs = this.#answered.nextDueMs()
    if (this.#closed || dueMs >= this.#freeAtMs) return
    this.#clock.clearTimeout(this.#freeTimer)
    this.#freeAtMs = dueMs
    this.#freeTimer = this.#clock.setTimeout(
      () => this.#free(),
      Math.max(0, Math.ceil(dueMs - this.#clock.monotonic())),
    )
    this.#freeTimer.unref?.()
  }

  #free(): void {
    this.#freeAtMs = Infinity
    // Timers may fire early by up to a millisecond; what is not due yet stays.
    for (const { limit, tick } of this.#answered.takeDue(this.#clock.monotonic()))
      this.#loop.add({ op: 'free', limit, tick })
    this.#armFree()
  }

  #armRenew(): void {
    this.#clock.clearTimeout(this.#renewTimer)
    if (this.#closed || (this.#waiters.size === 0 && this.#grants.size === 0 && this.#answered.size === 0)) return
    this.#renewTimer = this.#clock.setTimeout(() => this.#loop.exchangeSoon(), renewMs)
    this.#renewTimer.unref?.()
  }

  #armWake({ wakeMs }: ExchangeReply): void {
    this.#clock.clearTimeout(this.#wakeTimer)
    if (this.#closed || wakeMs < 0 || this.#waiters.size === 0) return
    this.#wakeTimer = this.#clock.setTimeout(() => this.#loop.exchangeSoon(), wakeMs + 1)
    this.#wakeTimer.unref?.()
  }

  /** Nothing is granted until a period has passed since somebody learned of the loss, by that process' own clock. */
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
