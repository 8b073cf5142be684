import type { Load } from './load/load-meter.ts'

/** The names of all events. */
export const capacityEventNames: Readonly<Record<keyof CapacityEvents, true>> = {
  measured: true,
  rowChanged: true,
  asked: true,
  shed: true,
  policyRejected: true,
}

/** The events of a capacity. */
export interface CapacityEvents {
  /** Every sample, four times per second. */
  measured: Load
  /** Another row of the table is in use; undefined: not ready. */
  rowChanged: { readonly maxBatchSize: number; readonly delayMs: number; readonly loadPercent: number } | undefined
  /** A shipper has requested capacity. */
  asked: { readonly ready: boolean; readonly senders: number }
  /** A request was shed, or let through while others were shed. */
  shed: { readonly priority: string; readonly admitted: boolean }
  /** A document was refused, or the source cannot be reached; the last good table stays. */
  policyRejected: { readonly source: string; readonly error: Error }
}
