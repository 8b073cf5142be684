/** A timer that is set for longer fires at once. */
const longestTimer = 2 ** 31 - 1

interface Entry {
  readonly atMs: number
  /** What to do when time is up; let go of as soon as it is no longer needed, with all that hangs on it. */
  expire: (() => void) | undefined
}

/**
 * Many deadlines, one timer. Deadlines mostly come in the order in which they end, so adding one is appending it; the timer is set for
 * the first and moves on to the next that is still open.
 */
export class Deadlines {
  #queue: Entry[] = []
  /** Entries before this one are over. */
  #head = 0
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Infinity

  /** Calls `expire` at `atMs` of the monotonic clock, unless the returned function is called before. */
  add(atMs: number, expire: () => void): () => void {
    const entry: Entry = { atMs, expire }
    let at = this.#queue.length
    while (at > this.#head && this.#queue[at - 1]!.atMs > atMs) at--
    if (at === this.#queue.length) this.#queue.push(entry)
    else this.#queue.splice(at, 0, entry)
    if (atMs < this.#timerAtMs) this.#arm(atMs)
    return () => {
      entry.expire = undefined
      this.#trim()
    }
  }

  /** What comes of some work, or undefined when it is not done at `atMs`. */
  inTime<T>(work: Promise<T>, atMs: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const cancel = this.add(atMs, () => resolve(undefined))
      work.then(resolve, reject).finally(cancel)
    })
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#queue = []
    this.#head = 0
    this.#timerAtMs = Infinity
  }

  /** Passes over what is done at the front; now and then gives the space back. */
  #trim(): void {
    while (this.#head < this.#queue.length && this.#queue[this.#head]!.expire === undefined) this.#head++
    if (this.#head > 512 || this.#head === this.#queue.length) {
      this.#queue.splice(0, this.#head)
      this.#head = 0
    }
  }

  #arm(atMs: number): void {
    clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    this.#timer = setTimeout(
      () => this.#fire(),
      Math.min(longestTimer, Math.max(0, Math.ceil(atMs - performance.now()))),
    )
    // The socket keeps the process alive for as long as an answer can come.
    this.#timer.unref()
  }

  #fire(): void {
    const now = performance.now()
    const expired: (() => void)[] = []
    for (let at = this.#head; at < this.#queue.length && this.#queue[at]!.atMs <= now; at++) {
      const entry = this.#queue[at]!
      if (entry.expire) expired.push(entry.expire)
      entry.expire = undefined
    }
    this.#trim()
    this.#timerAtMs = Infinity
    const next = this.#queue[this.#head]
    if (next) this.#arm(next.atMs)
    for (const expire of expired) expire()
  }
}
