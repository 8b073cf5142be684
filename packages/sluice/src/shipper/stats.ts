import type { BreakerState } from '../breaker/circuit.ts'
import type { FlushState } from './backoff/state.ts'

/** The state of a shipper. Counts are since it was created, except pending ones. */
export interface ShipperStats {
  readonly producer: string
  readonly isOwner: boolean
  /**
   * Pending events, as far as this process knows: the owner counts those of all producers, others what they stored
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
  /** Refused by the server permanently, and set aside. */
  readonly rejected: number
  /** Stored events that can no longer be read. */
  readonly lost: number
  readonly dropped: number
  readonly isFull: boolean
  readonly inPerSecond: number
  readonly outPerSecond: number
  /** When the buffer will be full at the current rate; null without a limit, or when it does not grow. */
  readonly timeToFullMs: number | null
}
