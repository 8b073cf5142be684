import type { BreakerState } from '../../breaker/circuit.ts'
import type { StoreError } from '../../core/errors.ts'
import type { CallbackStore } from '../callback-store.ts'

/** A store that answers whatever the store behind it does. */
export interface FallbackStore extends CallbackStore {
  readonly breaker: BreakerState
  /** Since the store last answered; 0 while it does. */
  readonly lastContactMs: number
  /** How it failed last, until it answers again. */
  readonly failure: StoreError | undefined
}
