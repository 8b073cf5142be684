import type { Clock, Timer } from '../../core/clock.ts'
import { type RefusalReason, RefusedError } from '../egress-error.ts'
import type { Grant } from './grant.ts'
import type { BookStep, StepResult, Units } from './messages.ts'

export interface Booking {
  readonly tenant: string
  /** Whose tenant it is: grants are fair between callers first, then between the tenants of one caller. */
  readonly caller?: string
  readonly weight: number
  readonly priorityMs: number
  /** When the call arrived, by the monotonic clock; it keeps its position in the queue when it books again. */
  readonly arrivedMs: number
  readonly maxWaitMs: number
  readonly scope: string
  readonly units: Units
  /**
   * The most that `written` of its grant will state, in milliseconds. Left out: only the response proves that the call
   * arrived, so it counts until its timeout should this process die.
   */
  readonly arrivalMs?: number | undefined
  readonly first: boolean
}

/** Called with the result of a booking: one of the two, once. That may be before `book` has returned. */
export interface BookingObserver {
  granted(grant: Grant): void
  /** With a `RefusedError`. */
  refused(error: Error): void
}

/** Where a call waits. */
export interface WaitingRoom {
  readonly clock: Clock
  readonly upstream: string
  /** Books it, again if need be. */
  request(call: WaitingCall): void
  /** It waits no longer. */
  left(call: WaitingCall): void
  /** Takes it out of shared state. */
  cancel(id: string): void
  /** How long the calls that wait take. */
  drainMs(): number
}

/** A call of this process that waits for its grant. */
export class WaitingCall {
  readonly id: string
  readonly booking: Booking
  readonly observer: BookingObserver
  readonly #room: WaitingRoom
  /** At its maximum wait it leaves in any case. Most are served before the timer is needed. */
  #leave: Timer | undefined
  #parked: Timer | undefined
  #ahead = 0
  /** When its grant is likely to come, by the monotonic clock. */
  #likelyMs = 0

  constructor(id: string, booking: Booking, observer: BookingObserver, room: WaitingRoom) {
    this.id = id
    this.booking = booking
    this.observer = observer
    this.#room = room
  }

  /** Its scope is paused; it books by itself when that is over. */
  get isParked(): boolean {
    return this.#parked !== undefined
  }

  get #leftMs(): number {
    return this.booking.maxWaitMs - (this.#room.clock.monotonic() - this.booking.arrivedMs)
  }

  bookStep(): BookStep {
    const { tenant, caller, weight, priorityMs, maxWaitMs, scope, units, arrivalMs, first } = this.booking
    const waitedMs = Math.floor(maxWaitMs - this.#leftMs)
    return {
      op: 'book',
      id: this.id,
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

  /** The result of its booking; `isLikely` if that tells when its grant comes. */
  booked(result: StepResult, isLikely: boolean): void {
    if (result.is === 'paused') this.park(result.ms)
    else if (result.is === 'full') this.refuse('queue-full', result.ahead, result.earliestMs)
    else if (result.is === 'too-long') this.refuse('wait-too-long', result.ahead, result.earliestMs)
    else if (result.is === 'queued' && isLikely) {
      this.#ahead = result.ahead
      this.#likelyMs = this.#room.clock.monotonic() + result.earliestMs
      this.armLeave()
    }
  }

  /** Its scope is paused: it books again when the pause is over, at its old position in the queue. */
  park(ms: number): void {
    if (ms > this.#leftMs) {
      this.refuse('wait-too-long', 0, ms)
      return
    }
    this.armLeave()
    this.#parked ??= this.#room.clock.setTimeout(() => {
      this.#parked = undefined
      this.#room.request(this)
    }, ms + 1)
  }

  /** From now on it leaves when it has waited for too long. */
  armLeave(): void {
    this.#leave ??= this.#room.clock.setTimeout(
      () => {
        this.#room.cancel(this.id)
        const likelyMs = this.#likelyMs - this.#room.clock.monotonic()
        this.refuse('wait-too-long', this.#ahead, likelyMs > 0 ? likelyMs : this.#room.drainMs())
      },
      Math.max(0, this.#leftMs),
    )
  }

  refuse(reason: RefusalReason, ahead: number, retryAfterMs: number): void {
    this.end()
    const { tenant } = this.booking
    const about = { retryAfterMs: Math.max(1, Math.ceil(retryAfterMs)), position: ahead + 1, tenant }
    this.observer.refused(new RefusedError(reason, this.#room.upstream, about))
  }

  end(): void {
    this.#room.left(this)
    this.#room.clock.clearTimeout(this.#leave)
    this.#room.clock.clearTimeout(this.#parked)
  }
}

function hasAny(units: Units): boolean {
  for (const _ in units) return true
  return false
}
