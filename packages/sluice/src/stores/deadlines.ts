interface Entry {
  readonly atMs: number
  readonly expire: () => void
  done: boolean
}

/**
 * Many deadlines, one timer. Deadlines mostly come in the order in which they end, so adding one is appending it; the timer is set for
 * the first and moves on to the next that is still open.
 */
export class Deadlines {
  #queue: Entry[] = []
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Infinity

  /** Calls `expire` at `atMs` of the monotonic clock, unless the returned function is called before. */
  add(atMs: number, expire: () => void): () => void {
    const entry: Entry = { atMs, expire, done: false }
    let at = this.#queue.length
    while (at > 0 && this.#queue[at - 1]!.atMs > atMs) at--
    if (at === this.#queue.length) this.#queue.push(entry)
    else this.#queue.splice(at, 0, entry)
    if (atMs < this.#timerAtMs) this.#arm(atMs)
    return () => {
      entry.done = true
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#queue = []
    this.#timerAtMs = Infinity
  }

  #arm(atMs: number): void {
    clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, Math.ceil(atMs - performance.now())))
    // The socket keeps the process alive for as long as an answer can come.
    this.#timer.unref()
  }

  #fire(): void {
    const now = performance.now()
    let past = 0
    while (past < this.#queue.length && (this.#queue[past]!.done || this.#queue[past]!.atMs <= now)) past++
    const expired = this.#queue.splice(0, past)
    this.#timerAtMs = Infinity
    const next = this.#queue[0]
    if (next) this.#arm(next.atMs)
    for (const entry of expired) if (!entry.done) entry.expire()
  }
}
