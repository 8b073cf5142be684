/** One level of load, and how much may be sent at it. */
export interface CapacityRowSpec {
  readonly below: number
  readonly maxBatchSize: number
  readonly delay: string
  /** Batches that a shipper may have in flight at a time; 1 when left out. */
  readonly maxInFlight?: number | undefined
}

/** How much shippers may send to a service. */
export interface CapacitySpec {
  readonly table?: readonly CapacityRowSpec[] | undefined
  readonly retryAfter?: string | undefined
}
