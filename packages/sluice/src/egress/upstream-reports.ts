import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { UpstreamStats } from './egress.ts'
import type { RefusedError, UpstreamError } from './egress-error.ts'
import type { EgressEvents } from './events.ts'

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
  readonly #begunMs: number
  readonly #waits: number[] = []
  /** Grants by second, for the rate. The last one is the current second. */
  readonly #seconds: { readonly second: number; count: number }[] = []

  constructor(begunMs: number) {
    this.#begunMs = begunMs
  }

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

  /** Over whole seconds only: the current one is not complete. In the first ten, over the time since it began. */
  rate(nowMs: number): number {
    const now = secondOf(nowMs)
    let sum = 0
    for (const { second, count } of this.#seconds) if (second < now && second >= now - rateSeconds) sum += count
    return sum / Math.min(rateSeconds, Math.max(1, now - this.#begunMs / 1000))
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

/**
 * What happens to the calls of one upstream: each is counted, and emitted as an event. The two events that every call
 * has are only made for listeners.
 */
export class UpstreamReports {
  readonly counts: UpstreamCounts
  readonly #upstream: string
  readonly #events: Emitter<EgressEvents>
  readonly #clock: Clock

  constructor(upstream: string, events: Emitter<EgressEvents>, clock: Clock) {
    this.counts = new UpstreamCounts(clock.monotonic())
    this.#upstream = upstream
    this.#events = events
    this.#clock = clock
  }

  granted(tenant: string, waitMs: number, attempt: number, nowMs: number): void {
    this.counts.grantedAfter(waitMs, nowMs)
    if (this.#events.has('granted')) this.#events.emit('granted', { upstream: this.#upstream, tenant, waitMs, attempt })
  }

  /** A call that asked for a grant at `arrivedMs`, if it could. */
  refused(tenant: string, arrivedMs: number | undefined, { reason }: RefusedError): void {
    const waitMs = arrivedMs === undefined ? 0 : this.#clock.monotonic() - arrivedMs
    this.counts.count('refused', reason)
    this.#events.emit('refused', { upstream: this.#upstream, tenant, reason, waitMs })
  }

  responded(tenant: string, firstByteMs: number, status: number, waitMs: number, attempt: number): void {
    this.counts.count('responses', status)
    if (firstByteMs < this.counts.leastFirstByteMs) this.counts.leastFirstByteMs = firstByteMs
    if (!this.#events.has('responded')) return
    this.#events.emit('responded', { upstream: this.#upstream, tenant, status, waitMs, firstByteMs, attempt })
  }

  failed(tenant: string, error: UpstreamError): void {
    this.counts.count('failures', error.reason)
    this.#events.emit('failed', { upstream: this.#upstream, tenant, reason: error.reason, error })
  }

  retried(attempt: number, delayMs: number, reason: string): void {
    this.counts.retries += 1
    this.#events.emit('retried', { upstream: this.#upstream, attempt, delayMs, reason })
  }

  /** What is only an event. */
  emit<Name extends keyof EgressEvents>(name: Name, about: Omit<EgressEvents[Name], 'upstream'>): void {
    this.#events.emit(name, { upstream: this.#upstream, ...about } as EgressEvents[Name])
  }
}
