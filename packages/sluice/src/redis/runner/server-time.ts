/**
 * What this client knows of the server's clock, learned from replies. The estimate is never ahead of the truth, so a
 * deadline translated with it is never later than meant: a reply that took `d` to arrive makes it at most `d` too
 * early.
 */
export class ServerTime {
  #offsetMs: number | undefined
  #olderMs = -Infinity
  #newerMs = -Infinity
  #turnMs = 0

  /** The server's time for an instant of this process' monotonic clock; undefined before the first reply. */
  at(monotonicMs: number): number | undefined {
    return this.#offsetMs === undefined ? undefined : this.#offsetMs + monotonicMs
  }

  /** A script that was sent at `sentMs` and whose reply arrived at `receivedMs` read `serverUs` in between. */
  learn(serverUs: number, sentMs: number, receivedMs: number): void {
    const atLeast = serverUs / 1000 - receivedMs
    const atMost = serverUs / 1000 - sentMs
    if (this.#offsetMs === undefined || this.#offsetMs > atMost) {
      // The first reply, or one that the estimate cannot be true for: another server, or a clock that was set.
      this.#olderMs = -Infinity
      this.#newerMs = atLeast
      this.#turnMs = receivedMs + 5000
    } else if (receivedMs > this.#turnMs) {
      // Clocks drift: only the best replies of the last ten seconds count.
      this.#olderMs = this.#newerMs
      this.#newerMs = atLeast
      this.#turnMs = receivedMs + 5000
    } else if (atLeast > this.#newerMs) {
      this.#newerMs = atLeast
    }
    this.#offsetMs = Math.max(this.#olderMs, this.#newerMs)
  }
}
