import type { Clock } from '../core/clock.ts'
import { every } from './every.ts'

const tickMs = 25

/**
 * How late this process was, in all: stopped, short of CPU, or with its event loop blocked. Measured between start and
 * stop.
 */
export class OwnLateness {
  readonly #clock: Clock
  #lateMs = 0
  #tickedMs = 0
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get ms(): number {
    return this.#lateMs + (this.#stop === undefined ? 0 : this.#sinceTick())
  }

  start(): void {
    this.#tickedMs = this.#clock.monotonic()
    this.#stop ??= every(tickMs, this.#clock, () => {
      this.#lateMs += this.#sinceTick()
      this.#tickedMs = this.#clock.monotonic()
    })
  }

  stop(): void {
    this.#lateMs = this.ms
    this.#stop?.()
    this.#stop = undefined
  }

  #sinceTick(): number {
    return Math.max(0, this.#clock.monotonic() - this.#tickedMs - tickMs)
  }
}
