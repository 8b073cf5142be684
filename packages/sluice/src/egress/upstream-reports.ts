import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { RefusedError, UpstreamError } from './egress-error.ts'
import type { EgressEvents } from './events.ts'
import { UpstreamCounts } from './upstream-counts.ts'

/**
 * What happens to the calls of one upstream: each is counted, and emitted as an event. The two events that every call
 * has are only made for listeners.
 */
export class UpstreamReports {
  readonly counts: UpstreamCounts = new UpstreamCounts()
  readonly #upstream: string
  readonly #events: Emitter<EgressEvents>
  readonly #clock: Clock

  constructor(upstream: string, events: Emitter<EgressEvents>, clock: Clock) {
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
