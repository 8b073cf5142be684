import type { Clock } from '../../core/clock.ts'
import type { BookingRules, ExchangeReply, Step, StepResult, Units } from '../booking/messages.ts'
import type { Grant } from './grant.ts'
import type { OutageMode } from './outage.ts'
import type { BookingPort } from './ports/booking-port.ts'
import type { MemoryPort } from './ports/memory-port.ts'

/** Why calls wait although the limits have room: shared state was lost or is new, or calls are paced. */
export type SlowedBy = 'stateMissed' | 'paced'

/** What a booker needs. */
export interface BookerOptions {
  readonly port: BookingPort | MemoryPort
  readonly clock: Clock
  /** Names this booker in shared state; new for every booker, as calls may outlive theirs. */
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

/** This process' side of the booking of one upstream. */
export interface Booker {
  /** How many calls of this process wait. */
  readonly waiting: number
  /** How many calls of this process hold a grant and are not over. */
  readonly inFlight: number
  /** Of the last exchange, for people who want to know: a state in this process is asked for it. */
  readonly last: ExchangeReply | undefined
  /** What refusals have widened `arrival` to, for all processes; 0 if nothing has. */
  readonly widenedMs: number
  /** Which mode decides while shared state cannot be reached; undefined while it can. */
  readonly outage: OutageMode | undefined
  /**
   * Requests a grant, at `nowMs` of the monotonic clock. The returned function cancels; the observer is not called
   * after it.
   */
  book(booking: Booking, observer: BookingObserver, nowMs: number): () => void
  /** Sends a step that concerns the whole upstream. Undefined when shared state cannot be reached. */
  ask(step: Step): Promise<StepResult | undefined>
  /** Settles all waiters, reports to shared state, and releases the rest. */
  close(): Promise<void>
}
