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

/** Decides, from the outcomes of the calls of a closed breaker, when it opens. Time arrives as an argument. */
export interface Strategy {
  /** Whether it needs the time of successes too; if not, the clock need not be read on the common path. */
  readonly timed: boolean
  /** Calls that take this long are slow: a slow probe fails. Infinity when calls need not be timed. */
  readonly slowMs: number
  /** Records a success; true when the breaker should open. */
  succeeded(nowMs: number, tookMs: number): boolean
  /** Records a failure; true when the breaker should open. */
  failed(nowMs: number, tookMs: number): boolean
  /** Resets all counts: the breaker has closed again. */
  reset(): void
}

/** What a rate is measured over. */
export interface RateLimit {
  /** From which share of the calls on it opens, above 0 and up to 1. */
  readonly ratio: number
  /** The length of the sliding window. */
  readonly windowMs: number
  /** With fewer calls in the window it does not open. */
  readonly minCalls: number
}

/** Opens after so many failures in a row. */
export function failuresInARow(limit: number): Strategy {
  let failures = 0
  return {
    timed: false,
    slowMs: Infinity,
    succeeded() {
      failures = 0
      return false
    },
    failed: () => ++failures >= limit,
    reset() {
      failures = 0
    },
  }
}

/**
 * Opens when too large a share of the calls failed. Only calls that have settled count, so a flood in flight does not
 * dilute it.
 */
export function failureRate({ ratio, windowMs, minCalls }: RateLimit): Strategy {
  const window = new RateWindow(windowMs, minCalls, ratio)
  return {
    timed: true,
    slowMs: Infinity,
    succeeded: (nowMs) => window.add(false, nowMs),
    failed: (nowMs) => window.add(true, nowMs),
    reset: () => window.reset(),
  }
}

/** Opens when too large a share of the calls took `slowMs` or longer, whether they succeeded or failed. */
export function slowCallRate({ slowMs, ratio, windowMs, minCalls }: RateLimit & { readonly slowMs: number }): Strategy {
  const window = new RateWindow(windowMs, minCalls, ratio)
  const record = (nowMs: number, tookMs: number): boolean => window.add(tookMs >= slowMs, nowMs)
  return {
    timed: true,
    slowMs,
    succeeded: record,
    failed: record,
    reset: () => window.reset(),
  }
}

/** Opens when one of several strategies does. */
export function anyOf(strategies: readonly [Strategy, ...Strategy[]]): Strategy {
  if (strategies.length === 1) return strategies[0]
  // No early return: each strategy must see every outcome.
  const any = (record: (strategy: Strategy) => boolean): boolean => strategies.map(record).includes(true)
  return {
    timed: strategies.some(({ timed }) => timed),
    slowMs: Math.min(...strategies.map(({ slowMs }) => slowMs)),
    succeeded: (nowMs, tookMs) => any((strategy) => strategy.succeeded(nowMs, tookMs)),
    failed: (nowMs, tookMs) => any((strategy) => strategy.failed(nowMs, tookMs)),
    reset() {
      for (const strategy of strategies) strategy.reset()
    },
  }
}
