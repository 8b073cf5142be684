const kept = 200
const leastMs = 10

/**
 * How much the time from an instant to the response differs from call to call. What is sent a period apart may arrive
 * closer together by as much, so that is what an estimated bound keeps free. It includes the vendor's own work, so it
 * errs on the safe side.
 */
export class DelaySpread {
  readonly #delays: number[] = []
  #count = 0
  #marginMs: number = leastMs

  /** From 10 ms to a quarter of the shortest period. */
  marginMs(shortestPeriodMs: number): number {
    return Math.min(Math.max(leastMs, Math.ceil(this.#marginMs)), Math.max(leastMs, Math.floor(shortestPeriodMs / 4)))
  }

  add(delayMs: number): void {
    this.#delays[this.#count++ % kept] = delayMs
    // Sorting from time to time is enough: a margin need not follow every call.
    if (this.#count % 20 !== 0) return
    const sorted = [...this.#delays].sort((a, b) => a - b)
    this.#marginMs = sorted[Math.floor((sorted.length - 1) * 0.99)]! - sorted[0]!
  }
}
