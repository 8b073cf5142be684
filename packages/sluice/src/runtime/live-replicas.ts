/**
 * How many replicas are alive: the largest number that was counted lately. It grows at once and falls late: after an
 * outage, or in shared state that came back empty, others may not have been heard yet, and too small a number would let
 * every replica admit too much. While nothing is counted, the last known number stands.
 */
export class LiveReplicas {
  readonly #rememberMs: number
  /** The largest counts of this span of time and of the one before it. */
  #most = 1
  #mostBefore = 1
  #spanMs = 0

  /** Once others are counted again, a number stands for `rememberMs` at least, and twice as long at most. */
  constructor(rememberMs: number) {
    this.#rememberMs = rememberMs
  }

  /** So many were counted at this time, by the monotonic clock. */
  seen(replicas: number, atMs: number): void {
    if (atMs - this.#spanMs >= this.#rememberMs) {
      this.#mostBefore = this.#most
      this.#most = 1
      this.#spanMs = atMs
    }
    this.#most = Math.max(this.#most, replicas)
  }

  get count(): number {
    return Math.max(this.#most, this.#mostBefore)
  }
}
