/** Into how many buckets a window is divided: it moves by a tenth of its length at a time. */
const bucketCount = 10

/**
 * The share of bad calls over a sliding window, in constant memory. The window is a ring of ten buckets; after a pause
 * every bucket that is too old is emptied, not only the next one, so that failures from before the pause do not count.
 */
export class RateWindow {
  readonly #bucketMs: number
  readonly #minCalls: number
  readonly #ratio: number
  readonly #calls: number[] = new Array(bucketCount).fill(0)
  readonly #bad: number[] = new Array(bucketCount).fill(0)
  /** The number of the newest bucket, counted from time 0. */
  #newest = -Infinity
  #totalCalls = 0
  #totalBad = 0

  constructor(windowMs: number, minCalls: number, ratio: number) {
    this.#bucketMs = windowMs / bucketCount
    this.#minCalls = minCalls
    this.#ratio = ratio
  }

  /**
   * Counts one call; true when there are enough of them and too many are bad. A clock that steps back counts as one
   * that is stopped.
   */
  add(isBad: boolean, nowMs: number): boolean {
    const bucket = Math.floor(nowMs / this.#bucketMs)
    if (bucket > this.#newest) this.#moveTo(bucket)
    const at = indexOf(this.#newest)
    this.#calls[at]! += 1
    this.#totalCalls += 1
    if (isBad) {
      this.#bad[at]! += 1
      this.#totalBad += 1
    }
    return this.#totalCalls >= this.#minCalls && this.#totalBad / this.#totalCalls >= this.#ratio
  }

  reset(): void {
    this.#calls.fill(0)
    this.#bad.fill(0)
    this.#totalCalls = 0
    this.#totalBad = 0
  }

  #moveTo(bucket: number): void {
    const outdated = Math.min(bucketCount, bucket - this.#newest)
    for (let i = 0; i < outdated; i++) {
      const at = indexOf(bucket - i)
      this.#totalCalls -= this.#calls[at]!
      this.#totalBad -= this.#bad[at]!
      this.#calls[at] = 0
      this.#bad[at] = 0
    }
    this.#newest = bucket
  }
}

/** The index of a bucket in the ring, also of one before time 0. */
function indexOf(bucket: number): number {
  return ((bucket % bucketCount) + bucketCount) % bucketCount
}
