import type { BreakerState } from './flush/next.ts'
import type { FlushState } from './flush/state.ts'

/** Where a shipper stands. Counts are since it was created, except what waits. */
export interface ShipperStats {
  readonly producer: string
  readonly isOwner: boolean
  /**
   * Events that wait, as far as this process knows: the owner knows of all producers, others of what they stored
   * themselves.
   */
  readonly pending: number
  readonly oldestAgeMs: number
  readonly bytesOnDisk: number
  readonly backoffLevel: number
  readonly breaker: BreakerState
  readonly nextAttemptInMs: number
  readonly consecutiveFailures: number
  readonly lastSuccessTime: number | null
  readonly lastCapacity: FlushState['lastCapacity']
  readonly stored: number
  readonly sent: number
  readonly duplicates: number
  /** Refused by `ship`: the buffer was full or failed, or the event too large. */
  readonly refused: number
  /** Refused by the server for good, and set aside. */
  readonly rejected: number
  /** Stored events that could not be read any more. */
  readonly lost: number
  readonly dropped: number
  readonly isFull: boolean
  readonly inPerSecond: number
  readonly outPerSecond: number
  /** When the buffer will be full if it goes on like this; null without a limit, or when it does not grow. */
  readonly timeToFullMs: number | null
}
