import type { Timer } from '../../core/clock.ts'
import type { Booking } from './booker.ts'
import type { Grant } from './grant.ts'

/** A call of this process that waits for its place. */
export interface Waiter {
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
