import type { UpstreamStats } from './egress.ts'

const keptWaits = 1000
const rateSeconds = 10

/** What happened at one upstream since this process began. */
export class UpstreamCounts {
  granted = 0
  retries = 0
  /** The shortest time from the head of a request to the head of its response. */
  leastFirstByteMs: number = Infinity
  readonly refused: Record<string, number> = {}
  readonly responses: Record<string, number> = {}
  readonly failures: Record<string, number> = {}
  readonly #waits: number[] = []
  /** Grants by second, for the rate. The last one is the current second. */
  readonly #seconds: { readonly second: number; count: number }[] = []

  /** A call was granted at this time, by the monotonic clock. */
  grantedAfter(waitMs: number, atMs: number): void {
    this.#waits[this.granted % keptWaits] = waitMs
    this.granted += 1
    const second = secondOf(atMs)
    const last = this.#seconds.at(-1)
    if (last?.second === second) last.count += 1
    else {
      this.#seconds.push({ second, count: 1 })
      while (this.#seconds[0]!.second < second - rateSeconds) this.#seconds.shift()
    }
  }

  count(what: 'refused' | 'responses' | 'failures', key: string | number): void {
    const counts: Record<string | number, number> = this[what]
    counts[key] = (counts[key] ?? 0) + 1
  }

  /** Over whole seconds only: the current one is not complete. */
  rate(nowMs: number): number {
    const now = secondOf(nowMs)
    let sum = 0
    for (const { second, count } of this.#seconds) if (second < now && second >= now - rateSeconds) sum += count
    return sum / rateSeconds
  }

  waits(): UpstreamStats['waitMs'] {
    const sorted = [...this.#waits].sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000)
}
