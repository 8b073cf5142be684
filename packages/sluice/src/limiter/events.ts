import type { BreakerState } from '../breaker/circuit.ts'
import type { FailureKind } from '../core/errors.ts'
import type { RecountOutcome } from '../stores/store.ts'
import type { Decision } from './decision/decision.ts'

/** The names of all events. */
export const limiterEventNames: Readonly<Record<keyof LimiterEvents, true>> = {
  decided: true,
  storeFailed: true,
  breakerChanged: true,
  evicted: true,
  recounted: true,
  policyLoaded: true,
  policyRejected: true,
  storeAnswered: true,
  leased: true,
  answeredLocally: true,
  waited: true,
}

export interface DecidedEvent {
  readonly decision: Decision
  /** The rules that were charged. */
  readonly rules: readonly string[]
  /** Readable keys, one for each of the rules. */
  readonly subjects: readonly string[]
  readonly cost: number
  /** Only measured while there are listeners. */
  readonly tookMs: number
}

/** How a wait ended: with its turn, because that would have come too late, or by its signal. */
export type WaitOutcome = 'admitted' | 'refused' | 'aborted'

/** Everything that can be watched. Metrics, logs and the dashboard all listen here. */
export interface LimiterEvents {
  /** After every decision. */
  decided: DecidedEvent
  /** The store failed to decide. */
  storeFailed: { readonly kind: FailureKind; readonly error: Error }
  /** The breaker of the store changed its state. */
  breakerChanged: { readonly state: BreakerState }
  /** Redis has evicted keys to make room, perhaps counters among them: their subjects have their whole limit again. */
  evicted: { readonly keys: number }
  /** The source of truth of a rule was asked, or its count was written to a store. `error` says how a source failed. */
  recounted: { readonly rule: string; readonly outcome: RecountOutcome; readonly error?: Error }
  /** A new policy is in force. */
  policyLoaded: { readonly version: string; readonly source: string }
  /** A document was refused, or the source cannot be reached; the last good policy stays. */
  policyRejected: { readonly source: string; readonly error: Error }
  /** One round trip to a store: how many asks it carried and how long it took. */
  storeAnswered: { readonly asks: number; readonly tookMs: number }
  /** Leases: units drawn ahead, spent locally, given back. */
  leased: { readonly rule: string; readonly drawn: number; readonly returned: number; readonly stranded: number }
  /** A denial or a lease answered without I/O. */
  answeredLocally: { readonly by: 'deny-cache' | 'lease'; readonly rule: string }
  /** A wait has ended, also one that was admitted at once. */
  waited: {
    readonly outcome: WaitOutcome
    readonly rule: string | undefined
    readonly waitedMs: number
  }
}
