/**
 * Bounds grow by the square root of two, from 10 us to 3.7 s. A quantile is in the right bucket, so it is at most 1.42
 * times too high or too low; where times spread over several buckets, it is right within a fifth.
 */
const firstMs = 0.01
const buckets = 38
/** How long one generation of counts lasts. */
const generationMs = 30_000

/** How long decisions of the last 30 to 60 seconds took, in bounded memory. Counts of several processes add up. */
export class Latencies {
  #current: number[] = none()
  #former: number[] = none()
  #begunMs: number

  constructor(nowMs: number) {
    this.#begunMs = nowMs
  }

  /** `weight` is how many decisions this one stands for. */
  add(tookMs: number, nowMs: number, weight = 1): void {
    this.#rotate(nowMs)
    const bucket = tookMs <= firstMs ? 0 : Math.ceil(2 * Math.log2(tookMs / firstMs))
    this.#current[Math.min(buckets - 1, bucket)]! += weight
  }

  /** How many decisions were in each bucket. */
  counts(nowMs: number): readonly number[] {
    this.#rotate(nowMs)
    return this.#current.map((count, i) => count + this.#former[i]!)
  }

  #rotate(nowMs: number): void {
    const passedMs = nowMs - this.#begunMs
    if (passedMs < generationMs) return
    this.#former = passedMs < 2 * generationMs ? this.#current : none()
    this.#current = none()
    this.#begunMs = nowMs
  }
}

/**
 * The time within which a share of decisions was made, in milliseconds; undefined when there were none.
 *
 * @example latencyQuantile(limiter.stats().latency, 0.99)
 */
export function latencyQuantile(counts: readonly number[], share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0)
  let passed = 0
  for (const [i, count] of counts.entries()) {
    // Evenly spread within a bucket, which keeps the figure from jumping between bounds.
    if (count > 0 && passed + count >= share * total) {
      const [from, to] = [i === 0 ? 0 : boundOf(i - 1), boundOf(i)]
      return from + (to - from) * ((share * total - passed) / count)
    }
    passed += count
  }
  return undefined
}

function boundOf(bucket: number): number {
  return firstMs * 2 ** (bucket / 2)
}

function none(): number[] {
  return new Array<number>(buckets).fill(0)
}
