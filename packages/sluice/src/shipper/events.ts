import type { BreakerState } from './flush/next.ts'
import type { Capacity } from './flush/state.ts'

/** What a shipper announces. */
export interface ShipperEvents {
  /** Events were stored by one commit. */
  readonly stored: { readonly events: number; readonly bytes: number }
  /** `ship` did not take so many events; `code` is that of the error. */
  readonly refused: { readonly events: number; readonly code: string }
  /** A batch is done with. */
  readonly batch: {
    readonly sent: number
    readonly duplicates: number
    readonly rejected: number
    readonly pending: number
    readonly tookMs: number
  }
  /** The server said what it can take. */
  readonly capacity: { readonly capacity: Capacity }
  /** An attempt failed; nothing is lost, and the next one is due then. */
  readonly failure: { readonly reason: string; readonly backoffLevel: number; readonly nextAttemptInMs: number }
  /** The server does not accept who we are, or is not there (401, 403, 404, 405, 407): somebody must look at it. */
  readonly turnedAway: { readonly reason: string }
  readonly breaker: { readonly state: BreakerState }
  /** The server will never take this event. It was set aside. */
  readonly rejected: { readonly id: string; readonly reason: string }
  /** Part of a file is damaged; `savedAs` has its bytes. */
  readonly damaged: {
    readonly segment: string
    readonly offset: number
    readonly bytes: number
    readonly savedAs?: string
  }
  /** So many stored events of a producer cannot be read any more. */
  readonly lost: { readonly producer: string; readonly from: number; readonly events: number }
  /** `onFull: 'drop-oldest'` removed events that were not shipped. */
  readonly dropped: { readonly events: number; readonly fromMs: number; readonly toMs: number }
  /** The buffer is full, or has room again. */
  readonly full: { readonly isFull: boolean }
  /** The disk failed; `what` tells at which step. */
  readonly storageFailure: { readonly what: string; readonly error: unknown }
  /** The state file was damaged and set aside. */
  readonly stateDamaged: { readonly savedAs: string }
  /** The server does not read compressed bodies; they are sent uncompressed from now on. */
  readonly gzipRefused: Readonly<Record<string, never>>
  /** This process began or ceased to be the one that ships from the directory. */
  readonly owner: { readonly isOwner: boolean }
}
