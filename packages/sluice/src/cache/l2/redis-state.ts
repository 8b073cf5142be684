import type { Clock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import { backgroundClock } from '../../runtime/background-clock.ts'
import { Reachability } from '../../runtime/reachability.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'

/** After so many failures in a row, Redis counts as down. */
const failuresBeforeDown = 3
const backoff = { baseMs: 200, maxMs: 2000 } as const

/** Whether Redis answers. While it is down nothing is sent but probes. */
export class RedisState {
  readonly #monitor: CacheMonitor
  readonly #reachability: Reachability
  /** When Redis last answered, by the cache's clock. */
  lastAnswerMs = 0
  /** Why the last call failed that did, and when. */
  lastError: unknown
  lastFailureMs: number = -Infinity
  readonly #clock: Pick<Clock, 'monotonic'>

  constructor({ clock, random }: ResolvedOptions, monitor: CacheMonitor, probe: () => void) {
    this.#monitor = monitor
    this.#clock = clock
    this.#reachability = new Reachability({
      ...{ clock: backgroundClock(clock), random, probe, backoff, failures: failuresBeforeDown },
    })
  }

  get isDown(): boolean {
    return this.#reachability.isDown
  }

  /** Redis answered a call. Only a probe ends an outage: it also sends what could not be sent. */
  answered(nowMs: number): void {
    this.lastAnswerMs = nowMs
    if (!this.#reachability.isDown) this.#reachability.answered()
  }

  /** Redis answered a probe: calls are sent again. */
  recovered(nowMs: number): void {
    this.lastAnswerMs = nowMs
    if (this.#reachability.answered()) this.#monitor.events.emit('redisChanged', { state: 'up' })
  }

  failed(error: unknown): void {
    this.#remember(error)
    // That this process is late says nothing about Redis; but a probe that failed is followed by another.
    if (!this.isDown && error instanceof StoreError && error.kind === 'overload') return
    if (this.#reachability.failed()) this.#wentDown(error)
  }

  /** Redis counts as down at once. */
  lost(error: unknown): void {
    this.#remember(error)
    if (this.#reachability.lost()) this.#wentDown(error)
  }

  close(): void {
    this.#reachability.close()
  }

  #remember(error: unknown): void {
    this.lastError = error
    this.lastFailureMs = this.#clock.monotonic()
  }

  #wentDown(error: unknown): void {
    this.#monitor.events.emit('redisChanged', { state: 'down', error })
  }
}
