import type { Clock, Timer } from '../../core/clock.ts'
import { afterUnread } from '../../runtime/after-unread.ts'
import { OwnLateness } from '../../runtime/own-lateness.ts'

/**
 * Notices that a server does not answer although calls are in flight, which is all that shows of a frozen one. One
 * timer serves all calls, and is only set while there are any. How late this process was meanwhile does not count.
 */
export class Silence {
  readonly #clock: Clock
  readonly #longestMs: number
  readonly #leave: () => void
  readonly #lateness: OwnLateness
  #inFlight = 0
  /** When the last reply came; before that, when the first call was sent. */
  #sinceMs = 0
  /** How late this process had been until then. */
  #lateMs = 0
  #timer: Timer | undefined

  constructor(clock: Clock, longestMs: number, leave: () => void) {
    this.#clock = clock
    this.#longestMs = longestMs
    this.#leave = leave
    this.#lateness = new OwnLateness(clock, () => this.#inFlight > 0)
  }

  /** A call was sent. */
  began(): void {
    this.#lateness.start()
    if (this.#inFlight++ === 0) this.#heard()
    this.#timer ??= this.#lookIn(this.#longestMs)
  }

  /** A call was answered, or has failed. */
  ended(): void {
    this.#inFlight--
    this.#heard()
  }

  close(): void {
    this.#clock.clearTimeout(this.#timer)
  }

  #heard(): void {
    this.#sinceMs = this.#clock.monotonic()
    this.#lateMs = this.#lateness.at(this.#sinceMs)
  }

  #lookIn(ms: number): Timer {
    const timer = this.#clock.setTimeout(() => afterUnread(this.#clock, (readMs) => this.#look(readMs)), Math.ceil(ms))
    timer.unref?.()
    return timer
  }

  #look(readMs: number): void {
    this.#timer = undefined
    if (this.#inFlight === 0) return
    const lateMs = this.#lateness.at(readMs) - this.#lateMs
    const leftMs = this.#sinceMs + this.#longestMs + lateMs - readMs
    if (leftMs > 0) this.#timer = this.#lookIn(leftMs)
    else this.#leave()
  }
}
