import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { UpstreamStats } from './egress.ts'
import type { EgressEvents } from './events.ts'
import type { UpstreamRuntime } from './upstream-runtime.ts'

const keptWaits = 1000
const rateSeconds = 10

/** What happened at one upstream since this process began. */
class UpstreamCounts {
  granted = 0
  retries = 0
  readonly refused: Record<string, number> = {}
  readonly responses: Record<string, number> = {}
  readonly failures: Record<string, number> = {}
  readonly #waits: number[] = []
  /** Grants by second, for the rate. */
  readonly #seconds = new Map<number, number>()

  grantedAfter(waitMs: number, second: number): void {
    this.#waits[this.granted % keptWaits] = waitMs
    this.granted += 1
    this.#seconds.set(second, (this.#seconds.get(second) ?? 0) + 1)
    for (const old of this.#seconds.keys()) {
      if (old >= second - rateSeconds) break
      this.#seconds.delete(old)
    }
  }

  /** Over whole seconds only: the current one is not complete. */
  rate(second: number): number {
    let sum = 0
    for (const [at, count] of this.#seconds) if (at < second && at >= second - rateSeconds) sum += count
    return sum / rateSeconds
  }

  waits(): UpstreamStats['waitMs'] {
    const sorted = [...this.#waits].sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
  }
}

/** Counts the events of egress. */
export class EgressStats {
  readonly #clock: Clock
  readonly #counts = new Map<string, UpstreamCounts>()

  constructor(events: Emitter<EgressEvents>, clock: Clock) {
    this.#clock = clock
    events.on('granted', ({ upstream, waitMs }) => this.#of(upstream).grantedAfter(waitMs, this.#second()))
    events.on('refused', ({ upstream, reason }) => count(this.#of(upstream).refused, reason))
    events.on('responded', ({ upstream, status }) => count(this.#of(upstream).responses, String(status)))
    events.on('failed', ({ upstream, reason }) => count(this.#of(upstream).failures, reason))
    events.on('retried', ({ upstream }) => {
      this.#of(upstream).retries += 1
    })
  }

  of(runtime: UpstreamRuntime): UpstreamStats {
    const { upstream, booking, name } = runtime
    const counts = this.#of(name)
    const { last } = booking
    return {
      name,
      // Under an estimated bound there is no shared queue; then only the queue of this process is known.
      depth: upstream.bound === 'strict' ? (last?.depth ?? 0) : booking.waiting,
      waiting: booking.waiting,
      inFlight: booking.inFlight,
      limits: upstream.limits.map(({ name: limit, amount, periodMs }, index) => ({
        name: limit,
        used: last?.used[index] ?? 0,
        amount,
        periodMs,
      })),
      pausedMs: last?.pausedMs ?? 0,
      marginMs: booking.marginMs,
      recovering: last?.recovering ?? false,
      degraded: booking.outage !== undefined,
      granted: counts.granted,
      refused: counts.refused,
      responses: counts.responses,
      failures: counts.failures,
      retries: counts.retries,
      waitMs: counts.waits(),
      ratePerSecond: counts.rate(this.#second()),
    }
  }

  #of(upstream: string): UpstreamCounts {
    const counts = this.#counts.get(upstream) ?? new UpstreamCounts()
    this.#counts.set(upstream, counts)
    return counts
  }

  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1000)
  }
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1
}
