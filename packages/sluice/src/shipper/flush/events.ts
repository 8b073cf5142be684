import type { BreakerState } from '../../breaker/circuit.ts'
import type { Capacity } from '../backoff/state.ts'

/** The names of all events. */
export const shipperEventNames: Readonly<Record<keyof ShipperEvents, true>> = {
  stored: true,
  refused: true,
  sent: true,
  capacityAnswered: true,
  failed: true,
  turnedAway: true,
  breakerChanged: true,
  rejected: true,
  damaged: true,
  lost: true,
  dropped: true,
  fullChanged: true,
  storageFailed: true,
  stateDamaged: true,
  gzipRefused: true,
  ownerChanged: true,
}

/** The events of a shipper. */
export interface ShipperEvents {
  /** Events were stored by one commit. */
  readonly stored: { readonly events: number; readonly bytes: number }
  /** `ship` refused so many events; `code` is that of the error. */
  readonly refused: { readonly events: number; readonly code: string }
  /** A batch is complete. */
  readonly sent: {
    readonly sent: number
    readonly duplicates: number
    readonly rejected: number
    readonly pending: number
    readonly tookMs: number
  }
  /** The server reported how much it can take. */
  readonly capacityAnswered: { readonly capacity: Capacity }
  /** An attempt failed; nothing is lost, and the next one is due in `nextAttemptInMs`. */
  readonly failed: { readonly reason: string; readonly backoffLevel: number; readonly nextAttemptInMs: number }
  /**
   * The server rejects our credentials or account, or the address is wrong (401 to 405, 407, 410, 421, 426, 451): an
   * operator must fix it.
   */
  readonly turnedAway: { readonly reason: string }
  /** The breaker of the server changed its state. */
  readonly breakerChanged: { readonly state: BreakerState }
  /** The server will never accept this event. It was set aside. */
  readonly rejected: { readonly id: string; readonly reason: string }
  /** Part of a file is damaged; `savedAs` has its bytes. */
  readonly damaged: {
    readonly segment: string
    readonly offset: number
    readonly bytes: number
    readonly savedAs?: string
  }
  /** So many stored events of a producer can no longer be read. */
  readonly lost: { readonly producer: string; readonly from: number; readonly events: number }
  /** `onFull: 'drop-oldest'` removed events that were not shipped. */
  readonly dropped: { readonly events: number; readonly fromMs: number; readonly toMs: number }
  /** The buffer is full, or has room again. */
  readonly fullChanged: { readonly isFull: boolean }
  /** The disk failed; `what` names the step. */
  readonly storageFailed: { readonly what: string; readonly error: unknown }
  /** The state file was damaged and set aside. */
  readonly stateDamaged: { readonly savedAs: string }
  /** The server does not accept compressed bodies; they are sent uncompressed from now on. */
  readonly gzipRefused: Readonly<Record<string, never>>
  /** This process became, or is no longer, the one that ships from the directory. */
  readonly ownerChanged: { readonly isOwner: boolean }
}
