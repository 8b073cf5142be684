import type { Clock, Timer } from '../../core/clock.ts'
import { RefusedError } from '../egress-error.ts'
import { BookingSide, type BookingSideOptions } from './booking-side.ts'
import { unitOf } from './engine/log.ts'
import type { PendingStep } from './exchange-loop.ts'
import { type MemoryPort, memoryPort } from './memory-port.ts'
import type { BookingPort, BookingRules, ExchangeReply, Step, StepResult } from './messages.ts'
import { type OutageMode, outageMode, outageRules, ReplicaCount } from './outage.ts'
import { type Booking, type BookingObserver, WaitingCall, type WaitingRoom } from './waiting-call.ts'

/** Why calls wait although the limits have room: shared state was lost or is new, or calls are paced. */
export type SlowedBy = 'stateMissed' | 'paced'

export interface BookingOptions {
  readonly port: BookingPort | MemoryPort
  readonly clock: Clock
  /** Names this client in shared state; new for every one, as calls may outlive theirs. */
  readonly owner: string
  readonly upstream: string
  /** Names its state: that of the account at the vendor where several services share one. */
  readonly state: string
  /** From the policy in force. */
  readonly rules: () => BookingRules
  readonly onStoreFailure: () => OutageMode
  /** How many replicas share the limits, if the application configured it. */
  readonly replicas: number | undefined
  readonly deadlineMs: number
  readonly onFailure: (error: Error) => void
  /** From now on nothing is granted, or calls are paced, for so long (ms): what was sent before is not known. */
  readonly onSlowed: (by: SlowedBy, ms: number) => void
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
  readonly #options: BookingOptions
  readonly #clock: Clock
  readonly #shared: BookingSide
  /** Decides while shared state cannot be reached, where something may be granted then. */
  #local: BookingSide | undefined
  #outage: OutageMode | undefined
  readonly #replicas: ReplicaCount
  readonly #waiting = new Map<string, WaitingCall>()
  readonly #room: WaitingRoom
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

  constructor(options: BookingOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#replicas = new ReplicaCount(options.replicas)
    this.#room = {
      ...{ clock: options.clock, upstream: options.upstream },
      request: (call) => this.#request(call),
      left: ({ id }) => this.#waiting.delete(id),
      cancel: (id) => this.#cancel(id),
      drainMs: () => this.#drainMs(),
    }
    const { port, rules } = options
    this.#shared = this.#newSide({ port, rules, onFailure: (error) => this.#failed(error) })
  }

  #newSide(own: Pick<BookingSideOptions, 'port' | 'rules' | 'onFailure'>): BookingSide {
    const side: BookingSide = new BookingSide({
      ...this.#options,
      ...own,
      waiting: () => this.#bookAll(side),
      onEnd: () => this.#ended(side),
      onReply: (reply, sentMs, receivedMs) => this.#replied(side, reply, sentMs, receivedMs),
    })
    return side
  }

  /** How many calls of this process wait. */
  get waiting(): number {
    return this.#waiting.size
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
    if (this.#waiting.size === 0 && this.#shared.inProcess && this.#grantNow(booking, observer, nowMs)) return nothing
    const id = `${this.#options.owner}.${(++this.#sequence).toString(36)}`
    const call = new WaitingCall(id, booking, observer, this.#room)
    if (this.#waiting.size >= this.#mostWaiting) {
      call.refuse('queue-full', this.#waiting.size, this.#drainMs())
      return nothing
    }
    this.#waiting.set(id, call)
    // An answer takes no longer than this; only then is it certain that the call waits.
    if (booking.maxWaitMs < this.#options.deadlineMs * 2) call.armLeave()
    this.#request(call)
    return () => {
      if (!this.#waiting.has(id)) return
      call.end()
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
    for (const call of [...this.#waiting.values()]) {
      call.end()
      this.#cancel(call.id)
      call.observer.refused(new RefusedError('closed', this.#options.upstream))
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
    const isWaiting = this.#waiting.size > 0 || (this.#last?.depth ?? 0) > 0
    return isWaiting && this.#options.rules().limits.some(({ periodMs, key }) => periodMs === 0 || !isRequests(key))
  }

  #request(call: WaitingCall): void {
    for (const side of [this.#shared, this.#local]) side?.loop.add(this.#pending(call, side))
  }

  #pending(call: WaitingCall, side: BookingSide): PendingStep {
    const settle = (result: StepResult | undefined): void => {
      if (result !== undefined && this.#waiting.has(call.id)) call.booked(result, side === this.#shared)
    }
    // Made when it is sent: it states how long the call has waited.
    return { step: () => call.bookStep(), settle, isKept: true }
  }

  /** All that wait here; those whose scope is paused book by themselves. */
  #bookAll(side: BookingSide): PendingStep[] {
    return [...this.#waiting.values()].filter(({ isParked }) => !isParked).map((call) => this.#pending(call, side))
  }

  /** How long the calls that wait take, at the rate that the limits allow; at least until the next turn. */
  #drainMs(): number {
    const { limits } = this.#options.rules()
    const { depth = 0, recoveringMs = 0, pausedMs = 0 } = this.last ?? {}
    const waiting = Math.max(depth, this.#waiting.size)
    const rounds = limits.map(({ amount, periodMs }) => ((waiting + 1) * periodMs) / amount)
    return Math.max(1, recoveringMs, pausedMs, ...rounds)
  }

  #cancel(id: string): void {
    for (const side of [this.#shared, this.#local]) side?.loop.add(cancelStep(id))
  }

  #replied(side: BookingSide, reply: ExchangeReply, sentMs: number, receivedMs: number): void {
    this.#last = reply
    this.#lastMs = receivedMs
    if (side === this.#shared) {
      this.#replicas.seen(reply.processes, sentMs)
      this.#endOutage()
      this.#noticeSlow(reply)
    }
    for (const { id, number } of reply.grants) {
      const call = this.#waiting.get(id)
      this.#inFlight += 1
      const grant = side.received(number, call?.booking, sentMs, receivedMs)
      if (call === undefined) {
        // The caller has cancelled, or the other side was faster; this grant is not used.
        grant.cancel()
        continue
      }
      call.end()
      if (this.#local) (side === this.#shared ? this.#local : this.#shared).loop.add(cancelStep(id))
      call.observer.granted(grant)
    }
    for (const { id, ms } of reply.paused) this.#waiting.get(id)?.park(ms)
    for (const id of reply.voided) {
      const call = this.#waiting.get(id)
      if (call) side.loop.add(this.#pending(call, side))
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
    for (const call of this.#waiting.values()) call.armLeave()
    this.#options.onFailure(error)
    if (this.#outage !== undefined || this.#closed) return
    const replicas = this.#replicas.known
    const mode = outageMode(this.#options.onStoreFailure(), replicas, error)
    this.#outage = mode
    if (mode === 'closed') return
    const { clock, rules } = this.#options
    // Its grants are reported by exchanges as well, as shared state counts them once it is back.
    const { exchange, close } = memoryPort(clock, `outage${++this.#outages}-${this.#options.owner}`)
    const none = { ...rules(), limits: [{ key: 'in-flight', amount: 0, periodMs: 0 }] }
    const side = this.#newSide({
      port: { exchange, close },
      rules: () => outageRules(mode, rules(), replicas) ?? none,
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
    if (this.#closed || (this.#waiting.size === 0 && this.#shared.isIdle && !isUsed)) return
    this.#renewTimer = this.#clock.setTimeout(() => this.#shared.loop.exchangeSoon(), renewMs)
    this.#renewTimer.unref?.()
  }

  /** Asks when the first call that waits here can have its turn. Nobody wakes it up. */
  #armAsk(side: BookingSide, inMs: number): void {
    this.#clock.clearTimeout(this.#askTimer)
    if (this.#closed || this.#waiting.size === 0) return
    this.#askTimer = this.#clock.setTimeout(() => side.loop.exchangeSoon(), Math.max(0, Math.ceil(inMs + 0.3)))
    this.#askTimer.unref?.()
  }
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
