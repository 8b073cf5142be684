import type { Clock, Timer } from '../core/clock.ts'
import { afterUnread } from './after-unread.ts'
import type { OwnLateness } from './own-lateness.ts'
import { longestTimerMs, systemClock } from './system-clock.ts'

/** A deadline that was added. */
export interface Deadline {
  /** When it ends, as far as is known now. */
  endMs(nowMs: number): number
  /** Takes it back; nothing happens if it is over. */
  cancel(): void
}

/** A member of a circular list, in the order in which deadlines end. */
class Entry implements Deadline {
  atMs: number
  readonly #atMs: number
  readonly #lateness: OwnLateness | undefined
  readonly #lateMs: number
  /** Called when time is up. Cleared as soon as it is no longer needed, so that what it refers to can be collected. */
  expire: ((readMs: number) => void) | undefined
  previous: Entry = this
  next: Entry = this

  constructor(atMs: number, expire: Entry['expire'], lateness?: OwnLateness, lateMs = 0) {
    this.atMs = atMs
    this.#atMs = atMs
    this.expire = expire
    this.#lateness = lateness
    this.#lateMs = lateMs
  }

  endMs(nowMs: number): number {
    return this.#atMs + (this.#lateness === undefined ? 0 : this.#lateness.at(nowMs) - this.#lateMs)
  }

  insertAfter(previous: Entry): void {
    this.previous = previous
    this.next = previous.next
    this.next.previous = this
    previous.next = this
  }

  cancel(): void {
    this.expire = undefined
    this.remove()
  }

  remove(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
}

/**
 * Many deadlines, one timer. Deadlines are mostly added in the order in which they end, so adding one is an append;
 * taking one back is cheap in any order. The timer is set for the first deadline and may fire for none: most deadlines
 * are taken back, and setting a timer costs much more than a look at a list.
 */
export class Deadlines {
  readonly #clock: Clock
  /** The first entry comes after it and the last one before it. */
  readonly #ends: Entry = new Entry(-Infinity, undefined)
  #timer: Timer | undefined
  #timerAtMs = Infinity

  constructor(clock: Clock = systemClock()) {
    this.#clock = clock
  }

  /**
   * Calls `expire` at `atMs` of the monotonic clock, unless it is taken back before. It is given the time until which
   * replies were read. With a `lateness`, this process waits for somebody else, and by as much as it is late itself the
   * deadline ends later.
   */
  add(atMs: number, expire: (readMs: number) => void, lateness?: OwnLateness): Deadline {
    const entry = new Entry(atMs, expire, lateness, lateness?.at(this.#clock.monotonic()))
    this.#insert(entry)
    return entry
  }

  /** The result of some work; rejects with what `late` makes if it is not done at `atMs`. */
  inTime<T>(work: Promise<T>, atMs: number, late: () => unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = this.add(atMs, () => reject(late()))
      work.then(resolve, reject).finally(() => deadline.cancel())
    })
  }

  close(): void {
    this.#clock.clearTimeout(this.#timer)
    this.#timerAtMs = Infinity
    while (this.#ends.next !== this.#ends) this.#ends.next.cancel()
  }

  #insert(entry: Entry): void {
    let previous = this.#ends.previous
    while (previous.atMs > entry.atMs) previous = previous.previous
    entry.insertAfter(previous)
    if (entry.atMs < this.#timerAtMs) this.#arm(entry.atMs)
  }

  #arm(atMs: number): void {
    this.#clock.clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    const waitMs = Math.min(longestTimerMs, Math.max(0, Math.ceil(atMs - this.#clock.monotonic())))
    this.#timer = this.#clock.setTimeout(() => this.#due(), waitMs)
    // The socket keeps the process alive for as long as an answer can come.
    this.#timer.unref?.()
  }

  #due(): void {
    this.#timer = undefined
    afterUnread(this.#clock, (readMs) => this.#fire(readMs))
  }

  #fire(readMs: number): void {
    const expired: Entry[] = []
    let entry = this.#ends.next
    for (; entry !== this.#ends && entry.atMs <= readMs; entry = entry.next) expired.push(entry)
    this.#timerAtMs = Infinity
    if (entry !== this.#ends) this.#arm(entry.atMs)
    for (const each of expired) {
      // Undefined where another one that expired has taken it back.
      const { expire } = each
      each.remove()
      each.atMs = each.endMs(readMs)
      if (expire !== undefined && each.atMs > readMs) this.#insert(each)
      else {
        each.cancel()
        expire?.(readMs)
      }
    }
  }
}
