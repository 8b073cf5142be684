import type { Answer, Ask } from '../core/ask.ts'

/** What a store can tell about itself. */
export interface StoreHealth {
  readonly reachable: boolean
  /** Time of one round trip; 0 in process. */
  readonly roundTripMs: number
  /** What an operator should mend, in full sentences. */
  readonly warnings: readonly string[]
  readonly details: Readonly<Record<string, string | number | boolean>>
}

/**
 * Where counters live. A store answers an ask exactly once and exactly (see `Ask`), and settles within `withinMs`: with an
 * answer, or by rejecting with a `StoreError`. It may answer at once instead of with a promise.
 *
 * Wrappers (lease, deny-cache, fallback) take a store and are a store.
 */
export interface Store {
  readonly name: string
  decide(ask: Ask, withinMs: number): Answer | Promise<Answer>
  health(withinMs: number): Promise<StoreHealth>
  /** Gives back what is held ahead of use and ends timers and connections that the store opened itself. */
  close(): Promise<void>
}
