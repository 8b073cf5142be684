import type { Timer } from '../../core/clock.ts'
import type { Booking, BookingObserver } from './booker.ts'

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
