import type { BreakerState } from './circuit.ts'
import type { Failure } from './run-options.ts'
import type { CallOutcome } from './stats.ts'

/** The names of all events. */
export const breakerEventNames: Readonly<Record<keyof BreakerEvents, true>> = {
  stateChanged: true,
  called: true,
  failed: true,
  fellBack: true,
}

/** The events of a breaker. `key` is the name of a single breaker, or the key passed to `breakers.for(key)`. */
export interface BreakerEvents {
  /** It changed its state. */
  stateChanged: { readonly key: string; readonly state: BreakerState; readonly previous: BreakerState }
  /**
   * A call ended, or was not made (`rejected`). `late` when the breaker has changed its state since it admitted the
   * call, so that the outcome does not count.
   */
  called: { readonly key: string; readonly outcome: CallOutcome; readonly late: boolean }
  /** A call failed, by an error or (see `isFailedResult`) by its result; `late` as above. */
  failed: { readonly key: string; readonly error: unknown; readonly result?: unknown; readonly late: boolean }
  /** The fallback answers instead. */
  fellBack: { readonly key: string } & Failure
}
