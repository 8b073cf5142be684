import type { Clock, Timer } from '../../core/clock.ts'
import type { BookingRules, ExchangeReply, Step, StepResult, Units } from '../booking/messages.ts'
import { RefusedError } from '../egress-error.ts'
import type { Booker, BookerOptions, Booking, BookingObserver } from './booker.ts'
import { DelaySpread } from './delay-spread.ts'
import { ExchangeLoop, type PendingStep } from './exchange-loop.ts'
import { Grant, type GrantOwner } from './grant.ts'
import type { OutageMode } from './outage.ts'

/** A call that wakes up later than this after its instant returns it, at the least. */
const leastLateMs = 20

interface Waiter {
  readonly id: string
  readonly booking: Booking
  readonly observer: BookingObserver
  /** Ends the wait of a call that does not receive its instant in time. */
  readonly leave: Timer
  /** Its instant, in the time of shared state and in this process' monotonic clock. */
  atUs: number
  atMs: number
  /** Whether its instant was requested. */
  isAsked: boolean
}

/**
 * The booking of an upstream with an estimated bound: each call receives an instant and is sent then. There is no
 * queue: a call learns at once when it will be sent, or that this would be too late.
 */
export class InstantClient implements Booker, GrantOwner {
  readonly #options: BookerOptions
  readonly #clock: Clock
  readonly #loop: ExchangeLoop
  /** Those without an instant yet. */
  readonly #unbooked = new Map<string, Waiter>()
  /** Those that wait for their instant, in order. */
  #scheduled: Waiter[] = []
  readonly #sent = new Map<Grant, { readonly atUs: number; readonly atMs: number }>()
  readonly #spread = new DelaySpread()
  #isAsking = false
  #sequence = 0
  #timer: Timer | undefined
  #recovering: string | undefined
  #epoch: string | undefined
  #sentMs = 0
  #last: ExchangeReply | undefined
  #closed = false

  constructor(options: BookerOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#loop = new ExchangeLoop({
      ...options,
      rules: () => this.#rules(),
      known: () => this.#instantSteps([...this.#unbooked.values()]),
      held: () => ({}),
      onBounds: ({ sentMs }) => {
        this.#sentMs = sentMs
      },
      onReply: (reply) => this.#replied(reply),
    })
  }

  get waiting(): number {
    return this.#unbooked.size + this.#scheduled.length
  }

  get inFlight(): number {
    return this.#sent.size
  }

  get last(): ExchangeReply | undefined {
    return this.#last
  }

  get outage(): OutageMode | undefined {
    return this.#loop.mode
  }

  get marginMs(): number {
    return this.#spread.marginMs(Math.min(...this.#options.rules().limits.map(({ periodMs }) => periodMs)))
  }

  book(booking: Booking, observer: BookingObserver): () => void {
    if (this.#closed) {
      observer.refused(new RefusedError('closed', this.#options.upstream))
      return () => {}
    }
    const id = (++this.#sequence).toString(36)
    const leave = this.#clock.setTimeout(() => this.#leave(id), Math.max(0, this.#leftMs(booking)))
    const waiter: Waiter = { id, booking, observer, leave, atUs: -1, atMs: Infinity, isAsked: false }
    this.#unbooked.set(id, waiter)
    this.#requestSoon()
    return () => {
      this.#clock.clearTimeout(leave)
      if (this.#unbooked.delete(id) || !this.#scheduled.includes(waiter)) return
      this.#scheduled.splice(this.#scheduled.indexOf(waiter), 1)
      this.#return(waiter.atUs, booking.units)
    }
  }

  ask(step: Step): Promise<StepResult | undefined> {
    return new Promise((resolve) => this.#loop.add(step, resolve))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#clock.clearTimeout(this.#timer)
    const waiters = [...this.#unbooked.values(), ...this.#scheduled]
    this.#unbooked.clear()
    this.#scheduled = []
    for (const { observer, atUs, booking, leave } of waiters) {
      this.#clock.clearTimeout(leave)
      if (atUs >= 0) this.#return(atUs, booking.units)
      observer.refused(new RefusedError('closed', this.#options.upstream))
    }
    this.#loop.close()
    if (this.#loop.hasBegun) await this.ask({ op: 'leave' })
  }

  cancelled(grant: Grant): void {
    const at = this.#sent.get(grant)
    this.#sent.delete(grant)
    if (at) this.#return(at.atUs, grant.units)
  }

  answered(grant: Grant): void {
    const at = this.#sent.get(grant)
    if (at) this.#spread.add(this.#clock.monotonic() - at.atMs)
  }

  done(grant: Grant): void {
    this.#sent.delete(grant)
  }

  #rules(): BookingRules {
    return { ...this.#options.rules(), marginMs: this.marginMs }
  }

  #return(atUs: number, units: Units): void {
    this.#loop.add({ op: 'return', atUs, units })
  }

  /** Everything that is booked in one tick is one step. */
  #requestSoon(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    queueMicrotask(() => {
      this.#isAsking = false
      const waiters = [...this.#unbooked.values()].filter(({ isAsked }) => !isAsked)
      for (const { step, settle } of this.#instantSteps(waiters)) this.#loop.add(step, settle)
    })
  }

  #instantSteps(asked: readonly Waiter[]): PendingStep[] {
    const bySize = new Map<string, Waiter[]>()
    // Calls of one upstream mostly share one object.
    const sizes = new Map<Units, Waiter[]>()
    for (const waiter of asked) {
      waiter.isAsked = true
      const { units } = waiter.booking
      let waiters = sizes.get(units)
      if (waiters === undefined) {
        const size = JSON.stringify(units)
        waiters = bySize.get(size) ?? []
        bySize.set(size, waiters)
        sizes.set(units, waiters)
      }
      waiters.push(waiter)
    }
    return Array.from(bySize.values(), (waiters) => ({
      step: {
        op: 'instants' as const,
        ids: waiters.map(({ id }) => id),
        units: waiters[0]!.booking.units,
        maxWaitsMs: waiters.map(({ booking }) => Math.max(0, Math.floor(this.#leftMs(booking)))),
      },
      settle: (result: StepResult | undefined) => this.#booked(waiters, result),
    }))
  }

  #leftMs({ maxWaitMs, arrivedMs }: Booking): number {
    return maxWaitMs - (this.#clock.monotonic() - arrivedMs)
  }

  #booked(waiters: readonly Waiter[], result: StepResult | undefined): void {
    if (result?.is !== 'instants') return
    for (const [index, waiter] of waiters.entries()) {
      if (!this.#unbooked.delete(waiter.id)) {
        // The call was cancelled, or was requested twice and has another instant by now.
        const atUs = result.at[index]!
        if (atUs >= 0 && atUs !== waiter.atUs) this.#return(atUs, waiter.booking.units)
        continue
      }
      this.#clock.clearTimeout(waiter.leave)
      waiter.atUs = result.at[index]!
      if (waiter.atUs < 0) this.#refuse(waiter, -1 - waiter.atUs)
      else this.#scheduled.push(waiter)
    }
  }

  #leave(id: string): void {
    const waiter = this.#unbooked.get(id)
    if (waiter === undefined) return
    this.#unbooked.delete(id)
    this.#refuse(waiter, 0)
  }

  #refuse({ booking, observer }: Waiter, retryAfterMs: number): void {
    observer.refused(
      new RefusedError('wait-too-long', this.#options.upstream, { retryAfterMs, tenant: booking.tenant }),
    )
  }

  #replied(reply: ExchangeReply): void {
    this.#watchEpoch(reply)
    this.#last = reply
    // The server decided at some moment of the round trip; the middle of it is the best guess.
    const decidedMs = (this.#sentMs + this.#clock.monotonic()) / 2
    for (const waiter of this.#scheduled) {
      if (waiter.atMs === Infinity) waiter.atMs = decidedMs + waiter.atUs / 1000 - reply.nowMs
    }
    this.#scheduled.sort((a, b) => a.atMs - b.atMs)
    // Many instants have already come; a timer would take a millisecond more.
    this.#serve()
    this.#watchRecovery(reply)
  }

  #arm(): void {
    this.#clock.clearTimeout(this.#timer)
    const first = this.#scheduled[0]
    if (this.#closed || first === undefined) return
    this.#timer = this.#clock.setTimeout(
      () => this.#serve(),
      Math.max(0, Math.ceil(first.atMs - this.#clock.monotonic())),
    )
  }

  /** Serves those whose instant has come. Timers may fire early, so the others wait for the next. */
  #serve(): void {
    const nowMs = this.#clock.monotonic()
    const lateMs = Math.max(leastLateMs, this.marginMs)
    while (this.#scheduled[0] !== undefined && this.#scheduled[0].atMs <= nowMs) {
      const waiter = this.#scheduled.shift()!
      const { booking, atMs, atUs, observer } = waiter
      const waitedMs = nowMs - booking.arrivedMs
      const notAfterMs = atMs + lateMs
      if (nowMs > notAfterMs) this.#again(waiter)
      else {
        const about = { id: waiter.id, units: booking.units, waitedMs, notAfterMs, arriveByMs: Infinity }
        const grant = new Grant(this, about)
        this.#sent.set(grant, { atUs, atMs })
        observer.granted(grant)
      }
    }
    this.#arm()
  }

  /** The instants of those that wait were lost with shared state, which would give the same times to others. */
  #watchEpoch({ epoch }: ExchangeReply): void {
    // State in this process, as during an outage, has none.
    if (epoch === '') return
    const isOther = this.#epoch !== undefined && this.#epoch !== epoch
    this.#epoch = epoch
    if (!isOther) return
    const lost = this.#scheduled.filter(({ atMs }) => atMs !== Infinity)
    this.#scheduled = this.#scheduled.filter(({ atMs }) => atMs === Infinity)
    for (const waiter of lost) this.#again(waiter)
  }

  /** It woke up too late for its instant, which is lost; it requests another one. */
  #again(waiter: Waiter): void {
    if (this.#leftMs(waiter.booking) <= 0) this.#refuse(waiter, 0)
    else {
      const id = (++this.#sequence).toString(36)
      const leave = this.#clock.setTimeout(() => this.#leave(id), this.#leftMs(waiter.booking))
      const renewed = { ...waiter, id, leave, atUs: -1, atMs: Infinity, isAsked: false }
      this.#unbooked.set(renewed.id, renewed)
      this.#requestSoon()
    }
  }

  #watchRecovery({ recovering, epoch }: ExchangeReply): void {
    if (recovering && this.#recovering !== epoch) {
      // Instants are granted at once after a loss of state: those that wait book again, and what was sent in the last
      // period is not known, so an estimated bound does not hold for that one.
      this.#recovering = epoch
      this.#loop.add({ op: 'recovered', epoch })
    }
  }
}
