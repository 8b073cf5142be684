import type { BreakerState } from './circuit.ts'
import type { Failure } from './run-options.ts'
import type { CallOutcome } from './stats.ts'

/** The names of all events. */
export const breakerEventNames: Readonly<Record<keyof BreakerEvents, true>> = {
  state: true,
  call: true,
  failure: true,
  fallback: true,
}

/** The events of a breaker. `key` is the name of a single breaker, or the key passed to `breakers.for(key)`. */
export interface BreakerEvents {
  /** It changed its state. */
  state: { readonly key: string; readonly state: BreakerState; readonly previous: BreakerState }
  /**
   * A call ended, or was not made (`rejected`). `late` when the breaker has changed its state since it admitted the
   * call, so that the outcome does not count.
   */
  call: { readonly key: string; readonly outcome: CallOutcome; readonly late: boolean }
  /** A call failed; `late` as above. */
  failure: { readonly key: string; readonly error: unknown; readonly late: boolean }
  /** The fallback answers instead. */
  fallback: { readonly key: string } & Failure
}
