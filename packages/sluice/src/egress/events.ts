import type { FailureReason, RefusalReason } from './egress-error.ts'

/** The names of all events. */
export const egressEventNames: Readonly<Record<keyof EgressEvents, true>> = {
  granted: true,
  refused: true,
  responded: true,
  failed: true,
  paused: true,
  widened: true,
  stateMissed: true,
  paced: true,
  retried: true,
  hookFailed: true,
  storeFailed: true,
  policyLoaded: true,
  policyRejected: true,
}

/** The events of egress. Metrics, logs and the dashboard all listen here. */
export interface EgressEvents {
  /** A call was granted. */
  granted: { readonly upstream: string; readonly tenant: string; readonly waitMs: number; readonly attempt: number }
  /** A call was refused. */
  refused: {
    readonly upstream: string
    readonly tenant: string
    readonly reason: RefusalReason
    readonly waitMs: number
  }
  /** The final response of a call began. */
  responded: {
    readonly upstream: string
    readonly tenant: string
    readonly status: number
    readonly waitMs: number
    /** From the head of the request to the head of the response. */
    readonly firstByteMs: number
    readonly attempt: number
  }
  /** A call has no response. */
  failed: { readonly upstream: string; readonly tenant: string; readonly reason: FailureReason; readonly error: Error }
  /** The vendor asked us to wait. */
  paused: { readonly upstream: string; readonly scope: string; readonly ms: number; readonly status: number }
  /** The vendor refused a call although our log had room for it: requests count as longer on their way from now on. */
  widened: { readonly upstream: string; readonly arrivalMs: number }
  /** Shared state is missing, as it was lost or is new: nothing is granted for so long. */
  stateMissed: { readonly upstream: string; readonly ms: number }
  /**
   * A limit's calls are spread over its period for so long, as what was sent before is not known: after a loss of
   * state that no process outlived, at the very first start, or where the limit is new. With what was sent before, that
   * is under twice its amount.
   */
  paced: { readonly upstream: string; readonly ms: number }
  /** A call is made again. */
  retried: { readonly upstream: string; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  /** `classify` or `settle` threw or returned what cannot be; it counts as no answer. */
  hookFailed: { readonly upstream: string; readonly hook: string; readonly error: Error }
  /** Shared state could not be reached. */
  storeFailed: { readonly upstream: string; readonly error: Error }
  /** A new policy is in force. */
  policyLoaded: { readonly version: string; readonly source: string }
  /** A document was refused, or the source cannot be reached; the last good policy stays. */
  policyRejected: { readonly source: string; readonly error: Error }
}
