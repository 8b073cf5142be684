import type { Clock, Timer } from '../../core/clock.ts'
import { afterUnread } from '../../runtime/after-unread.ts'

/**
 * Notices that a server does not answer although calls are in flight, which is all that shows of a frozen one. One
 * timer serves all calls, and is only set while there are any.
 */
export class Silence {
  readonly #clock: Clock
  readonly #longestMs: number
  readonly #leave: () => void
  #inFlight = 0
  /** When the last reply came; before that, when the first call was sent. */
  #sinceMs = 0
  #timer: Timer | undefined

  constructor(clock: Clock, longestMs: number, leave: () => void) {
    this.#clock = clock
    this.#longestMs = longestMs
    this.#leave = leave
  }

  /** A call was sent. */
  began(): void {
    if (this.#inFlight++ === 0) this.#sinceMs = this.#clock.monotonic()
    this.#timer ??= this.#lookIn(this.#longestMs)
  }

  /** A call was answered, or has failed. */
  ended(): void {
    this.#inFlight--
    this.#sinceMs = this.#clock.monotonic()
  }

  close(): void {
    this.#clock.clearTimeout(this.#timer)
  }

  #lookIn(ms: number): Timer {
    const timer = this.#clock.setTimeout(() => afterUnread(this.#clock, (readMs) => this.#look(readMs)), Math.ceil(ms))
    timer.unref?.()
    return timer
  }

  #look(readMs: number): void {
    this.#timer = undefined
    if (this.#inFlight === 0) return
    const leftMs = this.#sinceMs + this.#longestMs - readMs
    if (leftMs > 0) this.#timer = this.#lookIn(leftMs)
    else this.#leave()
  }
}
