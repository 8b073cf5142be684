import type { DecidedEvent } from '../events.ts'

/** So many decisions are all counted; of later ones, until the next look, some stand for many. */
const exact = 400
const every = 32

/**
 * Chooses the decisions that are counted for reports. A quiet limiter counts all of them. In a busy one a count of each
 * would cost as much as half of the decision, so one of every 32 is counted, with that weight. Which one is random:
 * callers that ask for two rules by turns, or for keys in a cycle, would otherwise show only one of them.
 */
export class Sample {
  readonly #random: () => number
  #count: ((event: DecidedEvent, weight: number) => void) | undefined
  #seen = 0
  /** The number of the next decision that stands for 32. */
  #chosen: number

  constructor(random: () => number = Math.random) {
    this.#random = random
    this.#chosen = this.#oneAfter(exact)
  }

  /** From now on, counts with this function. */
  start(count: (event: DecidedEvent, weight: number) => void): void {
    this.#count = count
  }

  /** How many decisions the next one stands for; 0 when it is not counted. */
  next(): number {
    if (this.#count === undefined) return 0
    this.#seen += 1
    if (this.#seen <= exact) return 1
    if (this.#seen !== this.#chosen) return 0
    this.#chosen = this.#oneAfter(exact + every * Math.ceil((this.#seen - exact) / every))
    return every
  }

  /** Passes over the next one if it is not counted; otherwise it is left to `next`. */
  skips(): boolean {
    if (this.#count === undefined) return true
    const next = this.#seen + 1
    if (next <= exact || next === this.#chosen) return false
    this.#seen = next
    return true
  }

  count(event: DecidedEvent, weight: number): void {
    this.#count?.(event, weight)
  }

  /** Somebody has looked at the counts: the next decisions are all counted again. */
  restart(): void {
    this.#seen = 0
    this.#chosen = this.#oneAfter(exact)
  }

  /** One of the 32 that follow. */
  #oneAfter(passed: number): number {
    return passed + 1 + Math.floor(this.#random() * every)
  }
}
