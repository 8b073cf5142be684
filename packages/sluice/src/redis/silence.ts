/**
 * Notices that a server says nothing although calls are under way, which is all that a frozen one does. One timer looks after all
 * calls, and only while there are any.
 */
export class Silence {
  readonly #longestMs: number
  readonly #leave: () => void
  #inFlight = 0
  /** Of the last reply; before that, of the first call. */
  #sinceMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(longestMs: number, leave: () => void) {
    this.#longestMs = longestMs
    this.#leave = leave
  }

  /** A call goes out. */
  began(): void {
    if (this.#inFlight++ === 0) this.#sinceMs = performance.now()
    this.#timer ??= this.#lookIn(this.#longestMs)
  }

  /** A call has been answered, or has failed. */
  ended(): void {
    this.#inFlight--
    this.#sinceMs = performance.now()
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), Math.ceil(ms)).unref()
  }

  #look(): void {
    this.#timer = undefined
    if (this.#inFlight === 0) return
    const leftMs = this.#sinceMs + this.#longestMs - performance.now()
    if (leftMs > 0) this.#timer = this.#lookIn(leftMs)
    else this.#leave()
  }
}
