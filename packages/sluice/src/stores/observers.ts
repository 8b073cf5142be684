import type { BreakerState } from '../breaker/circuit.ts'
import type { FailureKind } from '../core/errors.ts'
import type { RecountOutcome, StoreObserver } from './store.ts'

/** Passes on what a store does to any number of observers. */
export class Observers implements Required<StoreObserver> {
  #entries: readonly { readonly observer: StoreObserver }[] = []

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** Adds an observer; the returned function removes it. */
  add(observer: StoreObserver): () => void {
    const entry = { observer }
    this.#entries = [...this.#entries, entry]
    return () => {
      this.#entries = this.#entries.filter((other) => other !== entry)
    }
  }

  roundTrip(asks: number, tookMs: number): void {
    for (const { observer } of this.#entries) observer.roundTrip?.(asks, tookMs)
  }

  local(by: 'deny-cache' | 'lease', rule: string): void {
    // Thousands of decisions per millisecond come by here, mostly unwatched.
    if (this.#entries.length === 0) return
    for (const { observer } of this.#entries) observer.local?.(by, rule)
  }

  lease(rule: string, drawn: number, returned: number, stranded: number): void {
    for (const { observer } of this.#entries) observer.lease?.(rule, drawn, returned, stranded)
  }

  failure(kind: FailureKind, error: Error): void {
    for (const { observer } of this.#entries) observer.failure?.(kind, error)
  }

  recount(rule: string, outcome: RecountOutcome, error?: Error): void {
    for (const { observer } of this.#entries) observer.recount?.(rule, outcome, error)
  }

  breaker(state: BreakerState): void {
    for (const { observer } of this.#entries) observer.breaker?.(state)
  }

  evicted(keys: number): void {
    for (const { observer } of this.#entries) observer.evicted?.(keys)
  }
}
