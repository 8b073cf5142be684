import type { Clock } from '../../core/clock.ts'
import type { Grant } from './grant.ts'
import type { MemoryPort } from './memory-port.ts'
import type { BookingPort, BookingRules, Units } from './messages.ts'
import type { OutageMode } from './outage.ts'

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
