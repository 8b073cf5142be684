import type { Clock } from '../../core/clock.ts'
import type { BookingRules, ExchangeReply, Step, StepResult, Units } from '../booking/messages.ts'
import type { BookingPort } from './booking-port.ts'
import type { Grant } from './grant.ts'
import type { OutageMode } from './outage.ts'

/** What both kinds of booking need. */
export interface BookerOptions {
  readonly port: BookingPort
  readonly clock: Clock
  /** Names this process in shared state; new for every process. */
  readonly owner: string
  readonly upstream: string
  /** From the policy in force. */
  readonly rules: () => BookingRules
  readonly onStoreFailure: () => 'open' | 'closed' | 'local'
  /** How many share the limits, if the application says so. */
  readonly replicas: number | undefined
  readonly deadlineMs: number
  readonly onFailure: (error: Error) => void
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

/** Whom a booking tells what became of it: one of the two, once. That may be before `book` has returned. */
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
  readonly last: ExchangeReply | undefined
  /** What decides while shared state cannot be reached; undefined while it can. */
  readonly outage: OutageMode | undefined
  /** What is kept free for the spread of delays. */
  readonly marginMs: number
  /** Asks for a grant. The returned function gives up; nothing is told after it. */
  book(booking: Booking, observer: BookingObserver): () => void
  /** Asks for something that concerns the whole upstream. Undefined when it cannot be asked. */
  ask(step: Step): Promise<StepResult | undefined>
  /** Settles all waiters, tells shared state, and lets go of the rest. */
  close(): Promise<void>
}
