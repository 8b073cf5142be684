/** What a server reported that it can take. */
export interface Capacity {
  readonly ready: boolean
  readonly maxBatchSize: number
  /** Milliseconds between batches. */
  readonly delayBetweenBatches: number
  /** Batches that may be in flight at a time. */
  readonly maxInFlight: number
  /** Seconds, like the header of the same name; null if the server did not state it. */
  readonly retryAfter: number | null
  readonly loadPercent: number | null
  readonly message: string | null
}

/** What the shipper remembers between attempts, also across restarts. Times are milliseconds since the epoch. */
export interface FlushState {
  readonly backoffLevel: number
  readonly nextAttemptAfter: number | null
  /** When that was set, as long as it holds: the clock may be set back since. */
  readonly waitingSince?: number | undefined
  readonly lastCapacity: Capacity | null
  readonly consecutiveFailures: number
  readonly lastSuccessTime: number | null
  readonly pendingEventCount: number
  /** Events set aside since the server last accepted one; left out for none. */
  readonly consecutiveRefusals?: number | undefined
}

/** The initial state: an attempt is allowed at once. */
export const freshState: FlushState = Object.freeze({
  backoffLevel: 0,
  nextAttemptAfter: null,
  lastCapacity: null,
  consecutiveFailures: 0,
  lastSuccessTime: null,
  pendingEventCount: 0,
})

/** Used while a server does not answer capacity requests. */
export const unknownCapacity: Capacity = Object.freeze({
  ready: true,
  maxBatchSize: 100,
  delayBetweenBatches: 100,
  maxInFlight: 1,
  retryAfter: null,
  loadPercent: null,
  message: null,
})
