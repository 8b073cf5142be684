import type { Clock } from '../core/clock.ts'
import { every } from './every.ts'

const tickMs = 5
/** Less than this between two ticks is no lateness: timers are not exact. */
const steadyMs = 10

/**
 * How late this process was, in all: stopped, short of CPU, or with its event loop blocked. Measured from `start` on
 * for as long as `isNeeded` says, which is asked now and then: a timer for each call would cost more than the call.
 */
export class OwnLateness {
  readonly #clock: Clock
  #lateMs = 0
  #tickedMs = 0
  #stop: (() => void) | undefined
  readonly #isNeeded: () => boolean

  constructor(clock: Clock, isNeeded: () => boolean) {
    this.#clock = clock
    this.#isNeeded = isNeeded
  }

  /** In all, until now. */
  at(nowMs: number): number {
    return this.#lateMs + (this.#stop === undefined ? 0 : this.#sinceTick(nowMs))
  }

  start(): void {
    if (this.#stop !== undefined) return
    this.#tickedMs = this.#clock.monotonic()
    this.#stop = every(tickMs, this.#clock, () => this.#tick())
  }

  #tick(): void {
    const nowMs = this.#clock.monotonic()
    this.#lateMs += this.#sinceTick(nowMs)
    this.#tickedMs = nowMs
    if (this.#isNeeded()) return
    this.#stop?.()
    this.#stop = undefined
  }

  #sinceTick(nowMs: number): number {
    return Math.max(0, nowMs - this.#tickedMs - steadyMs)
  }
}
