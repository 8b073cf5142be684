import type { BreakerState } from '../breaker/circuit.ts'
import type { Answer, Ask, Charge } from '../core/engine/ask.ts'
import type { FailureKind } from '../core/errors.ts'
import type { StoreHealth } from '../core/store-health.ts'

export type { StoreHealth } from '../core/store-health.ts'

/** Whoever wants to know what a store does; every call is on the hot path, so a store skips them while nobody watches. */
export interface StoreObserver {
  roundTrip?(asks: number, tookMs: number): void
  /** Something was decided without I/O. */
  local?(by: 'deny-cache' | 'lease', rule: string): void
  lease?(rule: string, drawn: number, returned: number, stranded: number): void
  failure?(kind: FailureKind, error: Error): void
  breaker?(state: BreakerState): void
}

/**
 * Where counters live. A store answers an ask exactly once and exactly (see `Ask`), and settles within `withinMs`: with an
 * answer, or by rejecting with a `StoreError`. It may answer at once instead of with a promise.
 *
 * Wrappers (lease, deny-cache, fallback) take a store and are a store.
 */
export interface Store {
  readonly name: string
  /** Declared by a store that decides at once and in this process: nothing is gained by answering before it. */
  readonly inProcess?: boolean
  /** Declares that `withinMs` is kept whatever happens; otherwise the guard sees to it. */
  readonly keepsDeadlines?: boolean
  decide(ask: Ask, withinMs: number): Answer | Promise<Answer>
  /**
   * Takes from one subject at once, where that needs neither a round trip nor the encoding of its key: the charge has the text it was
   * asked for by in place of the subject. Undefined when no subject that stands for itself is known by it; then nothing was done.
   */
  takeByText?(charge: Charge): Answer | undefined
  /** Tells an observer from now on; wrappers pass it on to what they wrap. */
  watch?(observer: StoreObserver): void
  health(withinMs: number): Promise<StoreHealth>
  /** Gives back what is held ahead of use and ends timers and connections that the store opened itself. */
  close(): Promise<void>
}
