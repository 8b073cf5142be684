import type { Clock, Timer } from '../../core/clock.ts'
import { toError } from '../../core/to-error.ts'
import type {
  BookedLimit,
  BookingRules,
  BookStep,
  ExchangeReply,
  Step,
  StepResult,
  Ticks,
  Units,
} from '../booking/messages.ts'
import { type RefusalReason, RefusedError } from '../egress-error.ts'
import { AnsweredPlaces } from './answered-places.ts'
import type { BookingPort } from './booking-port.ts'
import { Grant, type GrantOwner } from './grant.ts'

/** A grant may be written on for so long after it was asked for; then it is returned and booked again. */
export const graceMs = 1000
/** A process renews itself so often while it has anything in shared state. */
const renewMs = 1000
const leastRecoveryMs = 2000

export interface BookingClientOptions {
  readonly port: BookingPort
  readonly clock: Clock
  /** Names this process in shared state; new for every process. */
  readonly owner: string
  readonly upstream: string
  /** From the policy in force. */
  readonly rules: () => BookingRules
  readonly deadlineMs: number
  readonly onReply?: (reply: ExchangeReply) => void
  readonly onFailure?: (error: Error) => void
}

export interface Booking {
  readonly tenant: string
  readonly weight: number
  readonly priorityMs: number
  /** When the call arrived, by the monotonic clock; it keeps its place in the order when it books again. */
  readonly arrivedMs: number
  readonly maxWaitMs: number
  readonly scope: string
  readonly units: Units
  readonly first: boolean
}

interface Waiter {
  readonly id: string
  readonly booking: Booking
  readonly resolve: (grant: Grant) => void
  readonly reject: (error: Error) => void
  /** At its maximum wait it leaves, whatever happens. */
  readonly leave: Timer
  ahead: number
  earliestMs: number
  parked: Timer | undefined
}

type Settle = (result: StepResult | undefined) => void

/**
 * This process' side of the booking of one upstream: who waits here, which places are held here, and when they come back. Everything
 * asked in one tick is one exchange; only one is under way at a time, so that steps arrive in order.
 */
export class BookingClient implements GrantOwner {
  readonly #options: BookingClientOptions
  readonly #clock: Clock
  readonly #waiters = new Map<string, Waiter>()
  readonly #grants = new Map<string, Grant>()
  readonly #answered = new AnsweredPlaces()
  readonly #stopListening: () => void
  #steps: { step: Step; settle: Settle | undefined }[] = []
  #flushing = false
  #busy = false
  #sentMs = -1
  #lastSeenMs = -1
  #epoch: string | undefined
  #recovery: { readonly epoch: string; readonly endsMs: number } | undefined
  #sequence = 0
  #failures = 0
  #resync = false
  #freeTimer: Timer | undefined
  #freeAtMs = Infinity
  #renewTimer: Timer | undefined
  #wakeTimer: Timer | undefined
  #closed = false
  #last: ExchangeReply | undefined

  constructor(options: BookingClientOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#stopListening = options.port.listen(options.upstream, options.owner, () => this.#flushSoon())
  }

  /** How many calls of this process wait. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** How many calls of this process hold a grant and are not over. */
  get inFlight(): number {
    return this.#grants.size
  }

  get last(): ExchangeReply | undefined {
    return this.#last
  }

  /** Whether the last exchange failed. */
  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** Asks for a grant. Rejects with a `RefusedError`; the returned function gives up. */
  book(booking: Booking): { readonly grant: Promise<Grant>; readonly giveUp: (error: Error) => void } {
    const id = `${this.#options.owner}.${(++this.#sequence).toString(36)}`
    let giveUp: (error: Error) => void = () => {}
    const grant = new Promise<Grant>((resolve, reject) => {
      if (this.#closed) {
        reject(new RefusedError('closed', this.#options.upstream))
        return
      }
      const leftMs = booking.maxWaitMs - (this.#clock.monotonic() - booking.arrivedMs)
      const leave = this.#clock.setTimeout(() => this.#leaveQueue(waiter, 'wait-too-long'), Math.max(0, leftMs))
      const waiter: Waiter = { id, booking, resolve, reject, leave, ahead: 0, earliestMs: 0, parked: undefined }
      this.#waiters.set(id, waiter)
      this.#ask(waiter)
      giveUp = (error) => {
        if (!this.#waiters.has(id)) return
        this.#forget(waiter)
        this.#step({ op: 'cancel', id })
        reject(error)
      }
    })
    return { grant, giveUp }
  }

  /** Asks for something that concerns the whole upstream. Undefined when it cannot be asked. */
  ask(step: Step): Promise<StepResult | undefined> {
    return new Promise((resolve) => this.#step(step, resolve))
  }

  /** Settles all waiters, tells shared state, and lets go of the rest: what is in flight is measured by others. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const waiter of [...this.#waiters.values()]) {
      this.#forget(waiter)
      this.#step({ op: 'cancel', id: waiter.id })
      waiter.reject(new RefusedError('closed', this.#options.upstream))
    }
    for (const timer of [this.#freeTimer, this.#renewTimer, this.#wakeTimer]) this.#clock.clearTimeout(timer)
    if (this.#sentMs >= 0) await this.ask({ op: 'leave' })
    this.#stopListening()
  }

  // What a grant reports.

  cancelled(grant: Grant): void {
    this.#grants.delete(grant.id)
    this.#step({ op: 'cancel', id: grant.id })
  }

  answered(grant: Grant): void {
    const { limits } = this.#options.rules()
    const ticks = this.#ticks(limits)
    for (const limit of limits) {
      this.#answered.add(limit, ticks[limit.key]!, Math.min(grant.units[limit.key] ?? 0, limit.amount))
    }
    grant.ticks = ticks
    this.#step({ op: 'answered', id: grant.id, ticks })
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
    this.#step({ op: 'done', id: grant.id, ...(units === undefined ? {} : { units }), ticks })
    this.#armFree()
  }

  #ticks(limits: readonly BookedLimit[]): Ticks {
    const nowMs = this.#clock.monotonic()
    return Object.fromEntries(limits.map((limit) => [limit.key, this.#answered.tickOf(limit, nowMs)]))
  }

  // Waiters

  #ask(waiter: Waiter): void {
    this.#step(this.#bookStep(waiter), (result) => this.#booked(waiter, result))
  }

  #bookStep({ id, booking }: Waiter): BookStep {
    const { tenant, weight, priorityMs, arrivedMs, maxWaitMs, scope, units, first } = booking
    const waitedMs = this.#clock.monotonic() - arrivedMs
    const leftMs = Math.max(0, maxWaitMs - waitedMs)
    return { op: 'book', id, tenant, weight, priorityMs, waitedMs, maxWaitMs: leftMs, scope, units, first }
  }

  #booked(waiter: Waiter, result: StepResult | undefined): void {
    if (result === undefined || !this.#waiters.has(waiter.id)) return
    switch (result.is) {
      case 'held':
        this.#grant(waiter.id)
        break
      case 'queued':
        waiter.ahead = result.ahead
        waiter.earliestMs = result.earliestMs
        break
      case 'paused':
        this.#park(waiter, result.ms)
        break
      case 'full':
      case 'too-long':
        this.#refuse(waiter, result.is === 'full' ? 'queue-full' : 'wait-too-long', result.ahead, result.earliestMs)
        break
    }
  }

  /** Its scope is paused: it books again when that is over, at its old place in the order. */
  #park(waiter: Waiter, ms: number): void {
    const leftMs = waiter.booking.maxWaitMs - (this.#clock.monotonic() - waiter.booking.arrivedMs)
    if (ms > leftMs) this.#refuse(waiter, 'wait-too-long', 0, ms)
    else waiter.parked = this.#clock.setTimeout(() => this.#ask(waiter), ms + 1)
  }

  #refuse(waiter: Waiter, reason: RefusalReason, ahead: number, retryAfterMs: number): void {
    this.#forget(waiter)
    const { tenant } = waiter.booking
    waiter.reject(new RefusedError(reason, this.#options.upstream, { retryAfterMs, position: ahead + 1, tenant }))
  }

  #leaveQueue(waiter: Waiter, reason: RefusalReason): void {
    this.#step({ op: 'cancel', id: waiter.id })
    this.#refuse(waiter, reason, waiter.ahead, waiter.earliestMs)
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
      if (!this.#grants.has(id)) this.#step({ op: 'cancel', id })
      return
    }
    this.#forget(waiter)
    const waitedMs = this.#clock.monotonic() - waiter.booking.arrivedMs
    const grant = new Grant(this, id, waiter.booking.units, this.#sentMs + graceMs, waitedMs)
    this.#grants.set(id, grant)
    waiter.resolve(grant)
  }

  // Exchanges

  #step(step: Step, settle?: Settle): void {
    this.#steps.push({ step, settle })
    this.#flushSoon()
  }

  #flushSoon(): void {
    if (this.#flushing || this.#busy) return
    this.#flushing = true
    queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    this.#flushing = false
    if (this.#busy) return
    const steps = this.#steps
    this.#steps = []
    if (this.#resync) this.#addKnown(steps)
    const { port, upstream, owner, rules, deadlineMs } = this.#options
    const nowMs = this.#clock.monotonic()
    const sinceMs = this.#lastSeenMs < 0 ? -1 : nowMs - this.#lastSeenMs
    this.#sentMs = nowMs
    this.#busy = true
    try {
      const reply = port.exchange(
        upstream,
        { owner, sinceMs, rules: rules(), steps: steps.map(({ step }) => step) },
        deadlineMs,
      )
      if (reply instanceof Promise) {
        reply.then(
          (replied) => this.#replied(steps, replied, nowMs),
          (error) => this.#failed(steps, toError(error)),
        )
      } else this.#replied(steps, reply, nowMs)
    } catch (error) {
      this.#failed(steps, toError(error))
    }
  }

  #replied(steps: readonly { step: Step; settle: Settle | undefined }[], reply: ExchangeReply, sentMs: number): void {
    this.#busy = false
    this.#failures = 0
    this.#last = reply
    this.#lastSeenMs = sentMs
    const isLost = this.#epoch !== undefined && (this.#epoch !== reply.epoch || !reply.known)
    this.#epoch = reply.epoch
    this.#resync = isLost
    for (const [index, { settle }] of steps.entries()) settle?.(reply.results[index])
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
    this.#watchRecovery(reply, nowMs)
    this.#options.onReply?.(reply)
    if (this.#steps.length > 0 || this.#resync) this.#flushSoon()
  }

  /** Whether the steps were taken is not known; asking again is harmless, and what this process knows is told once more. */
  #failed(steps: { step: Step; settle: Settle | undefined }[], error: Error): void {
    this.#busy = false
    this.#failures += 1
    this.#resync = true
    const again = steps.filter(({ step, settle }) => {
      if (step.op === 'book') return false
      const isWorthIt = step.op !== 'register' && step.op !== 'retry' && step.op !== 'recovered' && step.op !== 'leave'
      if (!isWorthIt) settle?.(undefined)
      return isWorthIt
    })
    this.#steps = [...again, ...this.#steps]
    this.#options.onFailure?.(error)
    this.#armRenew()
  }

  /** After a failure or a loss of state: what is taken here, and who waits here. */
  #addKnown(steps: { step: Step; settle: Settle | undefined }[]): void {
    this.#resync = false
    const calls = Array.from(this.#grants.values(), ({ id, units, ticks, isAnswered }) => ({
      id,
      units,
      ...(isAnswered ? { ticks } : {}),
    }))
    const groups = this.#answered.all().map(({ limit, tick, units }) => ({ limit, tick, units }))
    if (calls.length > 0 || groups.length > 0)
      steps.unshift({ step: { op: 'register', calls, groups }, settle: undefined })
    const asked = new Set(steps.map(({ step }) => ('id' in step ? step.id : '')))
    for (const waiter of this.#waiters.values()) {
      if (asked.has(waiter.id)) continue
      steps.push({ step: this.#bookStep(waiter), settle: (result) => this.#booked(waiter, result) })
    }
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
      this.#step({ op: 'free', limit, tick })
    this.#armFree()
  }

  #armRenew(): void {
    this.#clock.clearTimeout(this.#renewTimer)
    if (this.#closed || (this.#waiters.size === 0 && this.#grants.size === 0 && this.#answered.size === 0)) return
    const ms = this.#failures > 0 ? Math.min(renewMs, 50 * 2 ** Math.min(this.#failures, 5)) : renewMs
    this.#renewTimer = this.#clock.setTimeout(() => this.#flushSoon(), ms)
    this.#renewTimer.unref?.()
  }

  #armWake({ wakeMs }: ExchangeReply): void {
    this.#clock.clearTimeout(this.#wakeTimer)
    if (this.#closed || wakeMs < 0 || this.#waiters.size === 0) return
    this.#wakeTimer = this.#clock.setTimeout(() => this.#flushSoon(), wakeMs + 1)
    this.#wakeTimer.unref?.()
  }

  /** Nothing is granted until a period has passed since somebody learned of the loss, by that process' own clock. */
  #watchRecovery({ recovering, epoch }: ExchangeReply, nowMs: number): void {
    if (!recovering || this.#recovery?.epoch === epoch) return
    const periods = this.#options.rules().limits.map(({ periodMs }) => periodMs)
    const waitMs = Math.max(leastRecoveryMs, Math.min(...periods.filter((ms) => ms > 0)))
    this.#recovery = { epoch, endsMs: nowMs + waitMs }
    const timer = this.#clock.setTimeout(() => {
      if (!this.#closed) this.#step({ op: 'recovered', epoch })
    }, waitMs + 1)
    timer.unref?.()
  }
}
