import type { Clock, Timer } from '../core/clock.ts'
import { afterUnread } from './after-unread.ts'
import { longestTimerMs, systemClock } from './system-clock.ts'

interface Entry {
  readonly atMs: number
  /** Called when time is up. Cleared as soon as it is no longer needed, so that what it refers to can be collected. */
  expire: (() => void) | undefined
}

/**
 * Many deadlines, one timer. Deadlines are mostly added in the order in which they end, so adding one is an append. The
 * timer is set for the first deadline that is still open.
 */
export class Deadlines {
  readonly #clock: Clock
  #queue: Entry[] = []
  /** Entries before this one are over. */
  #head = 0
  #timer: Timer | undefined
  #timerAtMs = Infinity

  constructor(clock: Clock = systemClock()) {
    this.#clock = clock
  }

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

  /** The result of some work, or undefined if it is not done at `atMs`. */
  inTime<T>(work: Promise<T>, atMs: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const cancel = this.add(atMs, () => resolve(undefined))
      work.then(resolve, reject).finally(cancel)
    })
  }

  close(): void {
    this.#clock.clearTimeout(this.#timer)
    this.#queue = []
    this.#head = 0
    this.#timerAtMs = Infinity
  }

  /** Skips finished entries at the front, and frees their space now and then. */
  #trim(): void {
    while (this.#head < this.#queue.length && this.#queue[this.#head]!.expire === undefined) this.#head++
    if (this.#head > 512) {
      this.#queue.splice(0, this.#head)
      this.#head = 0
    }
  }

  #arm(atMs: number): void {
    this.#clock.clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    const waitMs = Math.min(longestTimerMs, Math.max(0, Math.ceil(atMs - this.#clock.monotonic())))
    this.#timer = this.#clock.setTimeout(() => this.#due(atMs), waitMs)
    // The socket keeps the process alive for as long as an answer can come.
    this.#timer.unref?.()
  }

  #due(atMs: number): void {
    this.#timer = undefined
    afterUnread(this.#clock.monotonic() - atMs, () => this.#fire())
  }

  #fire(): void {
    const now = this.#clock.monotonic()
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
