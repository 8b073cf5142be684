import type { Clock, Timer } from '../../core/clock.ts'
import { type RefusalReason, RefusedError } from '../egress-error.ts'
import type { BookerOptions, Booking, BookingObserver, SlowedBy } from './booker.ts'
import { BookingSide } from './booking-side.ts'
import { unitOf } from './engine/log.ts'
import type { PendingStep } from './exchange-loop.ts'
import { memoryPort } from './memory-port.ts'
import type { BookingRules, BookStep, ExchangeReply, Step, StepResult, Units } from './messages.ts'
import { type OutageMode, outageMode, outageRules, ReplicaCount } from './outage.ts'

/** A call of this process that waits for its grant. */
export interface Waiter {
  readonly id: string
  readonly booking: Booking
  readonly observer: BookingObserver
  /** At its maximum wait it leaves in any case. Most waiters are served before the timer is needed. */
  leave: Timer | undefined
  ahead: number
  /** When its grant is likely to come, by the monotonic clock. */
  likelyMs: number
  parked: Timer | undefined
}

const nothing = (): void => {}

/** How often a process renews itself while it has anything in shared state. */
const renewMs = 500
/**
 * After a loss of state, a process whose calls wait asks so often: time that nobody has verified is lost for all when
 * the next process registers.
 */
const recoveringMs = 100

/** This process' side of the booking of one upstream: which calls wait here, and what becomes of those granted. */
export class BookingClient {
  readonly #options: BookerOptions
  readonly #clock: Clock
  readonly #shared: BookingSide
  /** Decides while shared state cannot be reached, where something may be granted then. */
  #local: BookingSide | undefined
  #outage: OutageMode | undefined
  readonly #replicas: ReplicaCount
  readonly #waiters = new Map<string, Waiter>()
  #inFlight = 0
  /** The rules of the last exchange that was made for a grant in process. */
  #rulesSeen: BookingRules | undefined
  #sequence = 0
  #outages = 0
  #renewTimer: Timer | undefined
  #askTimer: Timer | undefined
  #closed = false
  #last: ExchangeReply | undefined
  #lastMs = 0
  #slowedBy: SlowedBy | undefined

  constructor(options: BookerOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#replicas = new ReplicaCount(options.replicas)
    const side: BookingSide = new BookingSide({
      ...options,
      waiting: () => this.#bookAll(() => this.#shared),
      onEnd: () => this.#ended(side),
      onReply: (reply, sentMs, receivedMs) => {
        this.#replicas.seen(reply.processes, sentMs)
        this.#endOutage()
        this.#replied(side, reply, sentMs, receivedMs)
      },
      onFailure: (error) => this.#failed(error),
    })
    this.#shared = side
  }

  /** How many calls of this process wait. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** How many calls of this process hold a grant and are not over. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Of the last exchange, for people who want to know: a state in this process is asked for it. */
  get last(): ExchangeReply | undefined {
    if (this.#shared.inProcess && this.#last && !this.#closed) this.#shared.loop.exchangeNow()
    return this.#last && agedReply(this.#last, this.#clock.monotonic() - this.#lastMs)
  }

  /** What refusals have widened `arrival` to, for all processes; 0 if nothing has. */
  get widenedMs(): number {
    return this.#last?.widenedMs ?? 0
  }

  /** Which mode decides while shared state cannot be reached; undefined while it can. */
  get outage(): OutageMode | undefined {
    return this.#outage
  }

  /**
   * Requests a grant, at `nowMs` of the monotonic clock. The returned function cancels; the observer is not called
   * after it.
   */
  book(booking: Booking, observer: BookingObserver, nowMs: number): () => void {
    if (this.#closed) {
      observer.refused(new RefusedError('closed', this.#options.upstream))
      return nothing
    }
    // Calls that already wait here come first.
    if (this.#waiters.size === 0 && this.#shared.inProcess && this.#grantNow(booking, observer, nowMs)) return nothing
    const id = `${this.#options.owner}.${(++this.#sequence).toString(36)}`
    const waiter: Waiter = { id, booking, observer, leave: undefined, ahead: 0, likelyMs: 0, parked: undefined }
    if (this.#waiters.size >= this.#mostWaiting) {
      this.#refuse(waiter, 'queue-full', this.#waiters.size, this.#drainMs())
      return nothing
    }
    this.#waiters.set(id, waiter)
    // An answer takes no longer than this; only then is it certain that the call waits.
    if (booking.maxWaitMs < this.#options.deadlineMs * 2) this.#armLeave(waiter)
    this.#request(waiter)
    return () => {
      if (!this.#waiters.has(id)) return
      this.#forget(waiter)
      this.#cancel(id)
    }
  }

  /** More than this cannot wait here, whatever shared state answers: the queue, and what may be granted at once. */
  get #mostWaiting(): number {
    const { limits, maxQueue } = this.#options.rules()
    return maxQueue + Math.min(...limits.map(({ amount }) => amount))
  }

  /** In process, what is free is granted at once. */
  #grantNow(booking: Booking, observer: BookingObserver, nowMs: number): boolean {
    const side = this.#shared
    const inProcess = side.inProcess!
    const rules = this.#options.rules()
    let record = inProcess.grant(rules, booking, nowMs)
    if (record === undefined && this.#rulesSeen !== rules) {
      this.#rulesSeen = rules
      side.loop.exchangeNow()
      record = inProcess.grant(rules, booking, nowMs)
    }
    if (record === undefined) return false
    this.#inFlight += 1
    const grant = side.issue(0, record, booking, nowMs, nowMs)
    if (this.#renewTimer === undefined) this.#armRenew()
    observer.granted(grant)
    return true
  }

  /** Sends a step that concerns the whole upstream. Undefined when shared state cannot be reached. */
  ask(step: Step): Promise<StepResult | undefined> {
    return new Promise((resolve) => {
      const isKept = step.op === 'pause'
      this.#shared.loop.add({ step, settle: resolve, isKept })
    })
  }

  /** Refuses all that wait, reports to shared state, and releases the rest. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const waiter of [...this.#waiters.values()]) {
      this.#forget(waiter)
      this.#cancel(waiter.id)
      waiter.observer.refused(new RefusedError('closed', this.#options.upstream))
    }
    for (const timer of [this.#renewTimer, this.#askTimer]) this.#clock.clearTimeout(timer)
    const { loop } = this.#shared
    loop.close()
    if (loop.hasBegun || loop.isAway) await this.ask({ op: 'leave' })
  }

  #ended(side: BookingSide): void {
    this.#inFlight -= 1
    if (this.#isAwaited) side.loop.exchangeSoon()
  }

  /** Whether somebody waits for the end of a call: those who wait, or shared state for the last one of this process. */
  get #isAwaited(): boolean {
    if (this.#closed) return this.#inFlight === 0
    const isWaiting = this.#waiters.size > 0 || (this.#last?.depth ?? 0) > 0
    return isWaiting && this.#options.rules().limits.some(({ periodMs, key }) => periodMs === 0 || !isRequests(key))
  }

  // Waiters

  #request(waiter: Waiter): void {
    waiter.parked = undefined
    this.#shared.loop.add(this.#pending(waiter, this.#shared))
    if (this.#local) this.#local.loop.add(this.#pending(waiter, this.#local))
  }

  #pending(waiter: Waiter, side: BookingSide): PendingStep {
    const settle = (result: StepResult | undefined): void => this.#booked(waiter, result, side)
    // Made when it is sent: it states how long the call has waited.
    return { step: () => this.#bookStep(waiter), settle, isKept: true }
  }

  /** All that wait here; those whose scope is paused book by themselves. */
  #bookAll(side: () => BookingSide): PendingStep[] {
    const waiters = [...this.#waiters.values()].filter(({ parked }) => parked === undefined)
    return waiters.map((waiter) => this.#pending(waiter, side()))
  }

  #bookStep({ id, booking }: Waiter): BookStep {
    const { tenant, caller, weight, priorityMs, arrivedMs, maxWaitMs, scope, units, arrivalMs, first } = booking
    const waitedMs = Math.floor(this.#clock.monotonic() - arrivedMs)
    return {
      op: 'book',
      id,
      caller: caller || undefined,
      tenant: tenant || undefined,
      weight: weight === 1 ? undefined : weight,
      priorityMs: priorityMs || undefined,
      waitedMs,
      maxWaitMs: Math.max(0, maxWaitMs - waitedMs),
      arrivalUs: arrivalMs === undefined ? -1 : Math.ceil(arrivalMs * 1000),
      scope: scope || undefined,
      units: hasAny(units) ? units : undefined,
      first,
    }
  }

  #leftMs({ maxWaitMs, arrivedMs }: Booking): number {
    return maxWaitMs - (this.#clock.monotonic() - arrivedMs)
  }

  #booked(waiter: Waiter, result: StepResult | undefined, side: BookingSide): void {
    if (result === undefined || !this.#waiters.has(waiter.id)) return
    if (result.is === 'paused') this.#park(waiter, result.ms)
    else if (result.is === 'full' || result.is === 'too-long') {
      const reason = result.is === 'full' ? 'queue-full' : 'wait-too-long'
      this.#refuse(waiter, reason, result.ahead, result.earliestMs)
    } else if (result.is === 'queued' && side === this.#shared) {
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
      waiter.parked ??= this.#clock.setTimeout(() => this.#request(waiter), ms + 1)
    }
  }

  #refuse(waiter: Waiter, reason: RefusalReason, ahead: number, retryAfterMs: number): void {
    this.#forget(waiter)
    const { tenant } = waiter.booking
    const about = { retryAfterMs: Math.max(1, Math.ceil(retryAfterMs)), position: ahead + 1, tenant }
    waiter.observer.refused(new RefusedError(reason, this.#options.upstream, about))
  }

  #armLeave(waiter: Waiter): void {
    waiter.leave ??= this.#clock.setTimeout(() => this.#leaveQueue(waiter), Math.max(0, this.#leftMs(waiter.booking)))
  }

  #leaveQueue(waiter: Waiter): void {
    this.#cancel(waiter.id)
    const likelyMs = waiter.likelyMs - this.#clock.monotonic()
    this.#refuse(waiter, 'wait-too-long', waiter.ahead, likelyMs > 0 ? likelyMs : this.#drainMs())
  }

  /** How long the calls that wait take, at the rate that the limits allow; at least until the next turn. */
  #drainMs(): number {
    const { limits } = this.#options.rules()
    const { depth = 0, recoveringMs = 0, pausedMs = 0 } = this.last ?? {}
    const waiting = Math.max(depth, this.#waiters.size)
    const rounds = limits.map(({ amount, periodMs }) => ((waiting + 1) * periodMs) / amount)
    return Math.max(1, recoveringMs, pausedMs, ...rounds)
  }

  #cancel(id: string): void {
    for (const side of [this.#shared, this.#local]) side?.loop.add({ step: { op: 'cancel', id }, isKept: true })
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter.id)
    this.#clock.clearTimeout(waiter.leave)
    this.#clock.clearTimeout(waiter.parked)
  }

  #replied(side: BookingSide, reply: ExchangeReply, sentMs: number, receivedMs: number): void {
    this.#last = reply
    this.#lastMs = receivedMs
    if (side === this.#shared) this.#noticeSlow(reply)
    for (const { id, number } of reply.grants) {
      const waiter = this.#waiters.get(id)
      if (waiter === undefined) {
        // The caller has cancelled, or the other side was faster; this grant is not used.
        this.#inFlight += 1
        side.received(number, undefined, sentMs, receivedMs).cancel()
        continue
      }
      this.#forget(waiter)
      if (this.#local) (side === this.#shared ? this.#local : this.#shared).loop.add(cancelStep(id))
      this.#inFlight += 1
      waiter.observer.granted(side.received(number, waiter.booking, sentMs, receivedMs))
    }
    for (const { id, ms } of reply.paused) {
      const waiter = this.#waiters.get(id)
      if (waiter) this.#park(waiter, ms)
    }
    for (const id of reply.voided) {
      const waiter = this.#waiters.get(id)
      if (waiter) side.loop.add(this.#pending(waiter, side))
    }
    this.#armRenew()
    const inMs = reply.askInUs / 1000 - (receivedMs - sentMs)
    this.#armAsk(side, reply.recoveringMs > 0 ? Math.min(inMs, recoveringMs) : inMs)
  }

  #noticeSlow({ recoveringMs, pacedMs }: ExchangeReply): void {
    const by = recoveringMs > 0 ? 'stateMissed' : pacedMs > 0 ? 'paced' : undefined
    if (by !== undefined && by !== this.#slowedBy) this.#options.onSlowed(by, recoveringMs || pacedMs)
    this.#slowedBy = by
  }

  // Outages

  #failed(error: Error): void {
    for (const waiter of this.#waiters.values()) this.#armLeave(waiter)
    this.#options.onFailure(error)
    if (this.#outage !== undefined || this.#closed) return
    const replicas = this.#replicas.known
    const mode = outageMode(this.#options.onStoreFailure(), replicas, error)
    this.#outage = mode
    if (mode === 'closed') return
    const { clock, rules } = this.#options
    // Its grants are reported by exchanges as well, as shared state counts them once it is back.
    const { name, exchange, close } = memoryPort(clock, `outage${++this.#outages}-${this.#options.owner}`)
    const none = { ...rules(), limits: [{ key: 'in-flight', amount: 0, periodMs: 0 }] }
    const side: BookingSide = new BookingSide({
      ...this.#options,
      port: { name, exchange, close },
      rules: () => outageRules(mode, rules(), replicas) ?? none,
      waiting: () => this.#bookAll(() => side),
      onEnd: () => this.#ended(side),
      onReply: (reply, sentMs, receivedMs) => this.#replied(side, reply, sentMs, receivedMs),
      onFailure: nothing,
    })
    if (mode === 'local') side.inherit(this.#shared)
    this.#local = side
    side.loop.exchangeSoon()
  }

  /** Calls that were granted meanwhile count in shared state from now on. */
  #endOutage(): void {
    this.#outage = undefined
    if (this.#local === undefined) return
    this.#shared.adopt(this.#local)
    this.#local = undefined
  }

  // Timers. None keeps the process alive: every waiter has one that does.

  #armRenew(): void {
    this.#clock.clearTimeout(this.#renewTimer)
    this.#renewTimer = undefined
    // While anything is taken, the logs of long limits are copied in case shared state is lost. A queue is looked at
    // until it is empty.
    const isUsed = this.#last && (this.#last.depth > 0 || this.#last.used.some((units) => units > 0))
    if (this.#closed || (this.#waiters.size === 0 && this.#shared.isIdle && !isUsed)) return
    this.#renewTimer = this.#clock.setTimeout(() => this.#shared.loop.exchangeSoon(), renewMs)
    this.#renewTimer.unref?.()
  }

  /** Asks when the first call that waits here can have its turn. Nobody wakes it up. */
  #armAsk(side: BookingSide, inMs: number): void {
    this.#clock.clearTimeout(this.#askTimer)
    if (this.#closed || this.#waiters.size === 0) return
    this.#askTimer = this.#clock.setTimeout(() => side.loop.exchangeSoon(), Math.max(0, Math.ceil(inMs + 0.3)))
    this.#askTimer.unref?.()
  }
}

function hasAny(units: Units): boolean {
  for (const _ in units) return true
  return false
}

const isRequests = (key: string): boolean => unitOf(key) === 'requests'
const cancelStep = (id: string): PendingStep => ({ step: { op: 'cancel', id }, isKept: true })

/** What an exchange answered so long ago: what it said will last for a while has run on, also without another one. */
export function agedReply(reply: ExchangeReply, agoMs: number): ExchangeReply {
  const leftMs = (ms: number): number => Math.max(0, Math.ceil(ms - agoMs))
  const widenedForMs = leftMs(reply.widenedForMs)
  return {
    ...reply,
    recoveringMs: leftMs(reply.recoveringMs),
    pacedMs: leftMs(reply.pacedMs),
    pausedMs: leftMs(reply.pausedMs),
    widenedForMs,
    widenedMs: widenedForMs > 0 ? reply.widenedMs : 0,
  }
}
