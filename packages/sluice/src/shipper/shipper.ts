import type { BreakerState } from '../breaker/circuit.ts'
import type { CloseOptions, Part, PartHealth } from '../runtime/part.ts'
import type { FlushState } from './backoff/state.ts'
import type { ShipperEvents } from './flush/events.ts'
import type { FlushReport } from './flush/flush-run.ts'

/** What is left at `close`: it is on the disk, and is shipped when the directory is opened again. */
export interface CloseReport {
  readonly pending: number
  readonly bytesOnDisk: number
}

/** Keeps events on disk and drains them to a server, no faster than the server can take them. */
export interface Shipper extends Part<ShipperEvents> {
  /** Stores an event; resolves with its id when it is on the disk (see `durability`). */
  ship(event: unknown): Promise<string>
  /**
   * One pass: sends what is pending now, if the server is ready and an attempt is due. It never throws because of the
   * server.
   */
  flush(): Promise<FlushReport>
  stats(): ShipperStats
  /** Ready while events can be stored; a server that fails is a warning, as nothing is lost. */
  health(): Promise<PartHealth>
  /** Ends after the batch in flight, or after sending what is left, if that takes no longer than `within`. */
  close(options?: CloseOptions): Promise<CloseReport>
}

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
