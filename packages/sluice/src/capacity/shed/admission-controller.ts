import { type Priority, priorities } from './priority.ts'

/** Above this load some requests are shed; otherwise more are let through again, and faster below the lower one. */
const shedAbove = 80
const admitBelow = 70
/** However long the overload lasts, some are let through: without them the end of the overload could not be noticed. */
const leastShare = 0.02

/**
 * Decides which requests of an overloaded process are let through. The share of admitted requests is adjusted with
 * every sample of the load: down by a factor that grows with the load, up by steps. It goes to the more important
 * requests first, by how many of each there were recently. Requests that have waited too long are shed whatever the
 * share is: samples are too far apart to stop a queue that grows within one turn of the event loop.
 */
export class AdmissionController {
  readonly #random: () => number
  readonly shed: Map<Priority, number> = new Map()
  readonly admitted: Map<Priority, number> = new Map()
  /** Requests of each priority since the last sample, and a decaying sum of those before. */
  readonly #seen = new Map<Priority, number>()
  #share = 1
  /** When there was last no queue of requests. */
  #lastShortMs: number | undefined

  constructor(random: () => number) {
    this.#random = random
  }

  /** The share of all requests that is let through. */
  get share(): number {
    return this.#share
  }

  /** A new sample of the load, 0 to 100. */
  adjust(load: number): void {
    if (load > shedAbove) this.#share = Math.max(leastShare, this.#share * (1 - 0.015 * (load - shedAbove)))
    else {
      // Never frozen: a load that stays between the two, such as of busy processors, must not shed for ever.
      const step = load < admitBelow ? 1 : 0.2
      this.#share = Math.min(1, this.#share * (1 + 0.05 * step) + 0.01 * step)
    }
    for (const [priority, seen] of this.#seen) this.#seen.set(priority, seen / 2)
  }

  /** Whether a request that has waited for `waitedMs` is let through. */
  admit(priority: Priority, waitedMs = 0, nowMs = 0): boolean {
    this.#seen.set(priority, (this.#seen.get(priority) ?? 0) + 1)
    const chance = this.#isTooLate(priority, waitedMs, nowMs) ? leastShare : this.chanceOf(priority)
    const isAdmitted = chance >= 1 || this.#random() < chance
    const counts = isAdmitted ? this.admitted : this.shed
    counts.set(priority, (counts.get(priority) ?? 0) + 1)
    return isAdmitted
  }

  /**
   * The probability that a request of one priority is admitted. The less important get what the more important leave.
   */
  chanceOf(priority: Priority): number {
    if (this.#share >= 1) return 1
    let total = 0
    for (const seen of this.#seen.values()) total += seen
    let left = this.#share * total
    for (const each of priorities) {
      const seen = this.#seen.get(each) ?? 0
      if (each === priority) return seen === 0 ? this.#share : Math.min(1, Math.max(leastShare, left / seen))
      left -= seen
    }
    return this.#share
  }

  #isTooLate(priority: Priority, waitedMs: number, nowMs: number): boolean {
    const since = lastShortMs(this.#lastShortMs ?? nowMs, waitedMs, nowMs)
    this.#lastShortMs = since
    return waitedMs > waitLimitMs(nowMs - since, priority)
  }
}

/** A burst may make requests wait this long; a service that keeps up has served it by then. */
const burstMs = 200
/** Once requests have waited for a whole interval, none may wait longer than this. */
const standingMs = 50
const intervalMs = 500
/** Requests that waited less than this do not count as a queue. */
const shortMs = 20

const factors: Readonly<Record<Priority, number>> = { critical: 2, normal: 1, bulk: 0.5 }

/**
 * How long a request may have waited before it was read, given for how long there has been a queue. The rule is
 * controlled delay as in "Fail at Scale" (Maurer, ACM Queue 2015): generous to bursts, strict to a standing queue.
 */
function waitLimitMs(queueForMs: number, priority: Priority): number {
  return (queueForMs > intervalMs ? standingMs : burstMs) * factors[priority]
}

/** When there was last no queue, after a request that has waited `waitedMs`. */
function lastShortMs(before: number, waitedMs: number, nowMs: number): number {
  return waitedMs < shortMs ? nowMs : before
}
