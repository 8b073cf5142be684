import type { FailureReason, RefusalReason } from './egress-error.ts'

/** Everything about calls going out that can be watched. Metrics, logs and the dashboard all listen here. */
export interface EgressEvents {
  /** A call holds a grant. */
  granted: { readonly upstream: string; readonly tenant: string; readonly waitMs: number; readonly attempt: number }
  /** A call was not given a grant. */
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
    /** From the request's head to the response's. */
    readonly firstByteMs: number
    readonly attempt: number
  }
  /** A call has no response. */
  failed: { readonly upstream: string; readonly tenant: string; readonly reason: FailureReason; readonly error: Error }
  /** The vendor asked to wait. */
  paused: { readonly upstream: string; readonly scope: string; readonly ms: number; readonly status: number }
  /** A call is made again. */
  retried: { readonly upstream: string; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  /** Shared state could not be reached. */
  storeFailure: { readonly upstream: string; readonly error: Error }
  policyLoaded: { readonly version: string; readonly source: string }
  policyRejected: { readonly source: string; readonly error: Error }
}
