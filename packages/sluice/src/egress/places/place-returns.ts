import type { Clock, Timer } from '../../core/clock.ts'
import type { Adopted, BookedLimit, Ticks, Units } from '../booking/messages.ts'
import { type AnsweredGroup, AnsweredPlaces } from './answered-places.ts'
import type { Grant } from './grant.ts'

/** Measures the period of every answered place by this process' monotonic clock, and reports when it is over. */
export class PlaceReturns {
  readonly #clock: Clock
  readonly #onFree: (limit: string, tick: string) => void
  readonly #answered = new AnsweredPlaces()
  #timer: Timer | undefined
  #timerAtMs = Infinity
  #isClosed = false
  #now: { readonly atMs: number; readonly limits: readonly BookedLimit[]; readonly ticks: Ticks } | undefined

  constructor(clock: Clock, onFree: (limit: string, tick: string) => void) {
    this.#clock = clock
    this.#onFree = onFree
  }

  get size(): number {
    return this.#answered.size
  }

  all(): readonly AnsweredGroup[] {
    return this.#answered.all()
  }

  /** A call is answered now; returns the groups that its units went to. */
  answered(limits: readonly BookedLimit[], units: Units, nowMs: number): Ticks {
    const ticks = this.#ticks(limits, nowMs)
    const before = this.#answered.size
    for (const limit of limits)
      this.#answered.add(limit, ticks[limit.key]!, Math.min(units[limit.key] ?? 0, limit.amount))
    if (this.#answered.size > before) this.#arm()
    return ticks
  }

  /** Corrects the cost of an answered call; returns the groups that a cost beyond the reservation goes to. */
  correct(limits: readonly BookedLimit[], grant: Grant, units: Units, nowMs: number): Ticks {
    const ticks = this.#ticks(limits, nowMs)
    for (const limit of limits) {
      const actual = units[limit.key]
      if (actual === undefined) continue
      const difference = actual - Math.min(grant.units[limit.key] ?? 0, limit.amount)
      if (this.#answered.correct(limit.key, grant.ticks[limit.key] ?? '', difference) || difference <= 0) continue
      this.#answered.add(limit, ticks[limit.key]!, difference)
    }
    this.#arm()
    return ticks
  }

  /** Takes over what a process that is gone left behind. */
  adopt(limits: readonly BookedLimit[], adopted: readonly Adopted[]): void {
    const nowMs = this.#clock.monotonic()
    for (const { limit, tick, units } of adopted) {
      const known = limits.find(({ key }) => key === limit)
      this.#answered.adopt(known ?? { key: limit, amount: 1, periodMs: 1 }, tick, units, nowMs)
    }
    this.#arm()
  }

  /** The groups of calls that are answered now. Those of one millisecond are one object. */
  #ticks(limits: readonly BookedLimit[], nowMs: number): Ticks {
    const atMs = Math.ceil(nowMs)
    if (this.#now?.atMs === atMs && this.#now.limits === limits) return this.#now.ticks
    const ticks = Object.fromEntries(limits.map((limit) => [limit.key, this.#answered.tickOf(limit, atMs)]))
    this.#now = { atMs, limits, ticks }
    return ticks
  }

  close(): void {
    this.#isClosed = true
    this.#clock.clearTimeout(this.#timer)
  }

  #arm(): void {
    const dueMs = this.#answered.nextDueMs()
    if (this.#isClosed || dueMs >= this.#timerAtMs) return
    this.#clock.clearTimeout(this.#timer)
    this.#timerAtMs = dueMs
    this.#timer = this.#clock.setTimeout(() => this.#free(), Math.max(0, Math.ceil(dueMs - this.#clock.monotonic())))
    // Every waiter has a timer that keeps the process alive.
    this.#timer.unref?.()
  }

  #free(): void {
    this.#timerAtMs = Infinity
    // Timers may fire early by up to a millisecond; what is not due yet stays.
    for (const { limit, tick } of this.#answered.takeDue(this.#clock.monotonic())) this.#onFree(limit, tick)
    this.#arm()
  }
}
