import type { DecidedEvent } from '../events.ts'

/** So many decisions are all counted; of later ones, until the next look, some stand for many. */
const exact = 400
const every = 32

/**
 * Chooses the decisions that are counted for reports. A quiet limiter counts all of them. In a busy one a count of each
 * would cost as much as half of the decision, so every 32nd is counted, with that weight.
 */
export class Sample {
  #count: ((event: DecidedEvent, weight: number) => void) | undefined
  #seen = 0

  /** From now on, counts with this function. */
  start(count: (event: DecidedEvent, weight: number) => void): void {
    this.#count = count
  }

  /** How many decisions the next one stands for; 0 when it is not counted. */
  next(): number {
    if (this.#count === undefined) return 0
    this.#seen += 1
    if (this.#seen <= exact) return 1
    return this.#seen % every === 0 ? every : 0
  }

  /** Passes over the next one if it is not counted; otherwise it is left to `next`. */
  skips(): boolean {
    if (this.#count === undefined) return true
    const next = this.#seen + 1
    if (next <= exact || next % every === 0) return false
    this.#seen = next
    return true
  }

  count(event: DecidedEvent, weight: number): void {
    this.#count?.(event, weight)
  }

  /** Somebody has looked at the counts: the next decisions are all counted again. */
  restart(): void {
    this.#seen = 0
  }
}
