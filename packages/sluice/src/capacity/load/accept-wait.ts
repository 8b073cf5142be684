/** Arrivals per millisecond are averaged over about this time. */
const averageMs = 200

/**
 * Estimates how long connections have waited in the kernel before they were accepted, from the length of that queue.
 * libuv accepts one connection in each turn of the event loop, so turns stay short, and the delay of the event loop
 * low, while hundreds of connections wait.
 */
export class AcceptWait {
  #sampledMs: number
  #length = 0
  #lastEmptyMs: number
  #perMs = 0
  /** Connections accepted since the last sample. */
  #accepted = 0

  constructor(nowMs: number) {
    this.#sampledMs = nowMs
    this.#lastEmptyMs = nowMs
  }

  accepted(): void {
    this.#accepted++
  }

  /** A new reading of the queue's length. */
  sample(length: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#sampledMs
    if (elapsedMs > 0) {
      const perMs = Math.max(0, this.#accepted + length - this.#length) / elapsedMs
      this.#perMs += (perMs - this.#perMs) * (1 - Math.exp(-elapsedMs / averageMs))
    }
    if (length === 0) this.#lastEmptyMs = nowMs
    this.#length = length
    this.#sampledMs = nowMs
    this.#accepted = 0
  }

  /** How long the connection that is accepted next has waited, in milliseconds. */
  waitedMs(nowMs: number): number {
    const ahead = this.#length - this.#accepted
    if (ahead <= 0) return 0
    // It came before all that were still in the queue at the sample, but not before the queue was last empty.
    const sinceArrivalMs = nowMs - this.#sampledMs + ahead / Math.max(this.#perMs, 1e-9)
    return Math.min(sinceArrivalMs, nowMs - this.#lastEmptyMs)
  }
}
