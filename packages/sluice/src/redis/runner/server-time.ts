/** How long after a reply the latest time of the server can be told. */
const latestForMs = 2000
/** By how much two clocks may differ in rate, generously. */
const drift = 0.001

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
  #latestMs = 0
  #learnedMs = Number.NEGATIVE_INFINITY

  /** The server's time for an instant of this process' monotonic clock; undefined before the first reply. */
  at(monotonicMs: number): number | undefined {
    return this.#offsetMs === undefined ? undefined : this.#offsetMs + monotonicMs
  }

  /**
   * The latest that the server's time can be at an instant of this process' monotonic clock; undefined if the last
   * reply was too long ago to tell.
   */
  latestAt(monotonicMs: number): number | undefined {
    const sinceMs = monotonicMs - this.#learnedMs
    return sinceMs > latestForMs ? undefined : this.#latestMs + monotonicMs + sinceMs * drift
  }

  /** A script that was sent at `sentMs` and whose reply arrived at `receivedMs` read `serverUs` in between. */
  learn(serverUs: number, sentMs: number, receivedMs: number): void {
    const atLeast = serverUs / 1000 - receivedMs
    const atMost = serverUs / 1000 - sentMs
    this.#latestMs = atMost
    this.#learnedMs = sentMs
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

/** The reply to TIME, as one number. */
export function microsecondsOf(reply: unknown): number {
  const [seconds, micros] = reply as unknown[]
  return Number(seconds) * 1e6 + Number(micros)
}
