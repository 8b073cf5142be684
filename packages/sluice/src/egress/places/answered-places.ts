import type { BookedLimit } from '../booking/messages.ts'

/** A place is freed this much later than its period, in case two monotonic clocks run at slightly different speeds. */
const guardMs = 5

/** Units of calls that were answered within one tick, and when they come back. */
export interface AnsweredGroup {
  readonly limit: string
  readonly tick: string
  units: number
  readonly dueMs: number
}

/**
 * The places of answered calls, by limit and tick. Each comes back one period after its tick ended, by the monotonic
 * clock of this process: the call that uses it next is sent at least a period after the response of this one began.
 */
export class AnsweredPlaces {
  /** By limit, then by tick; those of one limit come back in the order in which they were added. */
  readonly #groups = new Map<string, Map<string, AnsweredGroup>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /**
   * The tick in which a call is answered now. Small limits have ticks of a millisecond, others a thousandth of their
   * period.
   */
  tickOf({ amount, periodMs }: BookedLimit, nowMs: number): string {
    return String(Math.ceil(nowMs / tickMs(amount, periodMs)))
  }

  add(limit: BookedLimit, tick: string, units: number): void {
    if (units <= 0 || limit.periodMs === 0 || this.correct(limit.key, tick, units)) return
    const endMs = Number(tick) * tickMs(limit.amount, limit.periodMs)
    this.#begin(limit.key, tick, units, endMs + limit.periodMs + guardMs)
  }

  /** Units of a process that is gone; it is not known when they were answered, only that it was before now. */
  adopt({ key, amount, periodMs }: BookedLimit, tick: string, units: number, nowMs: number): void {
    if (this.correct(key, tick, units)) return
    this.#begin(key, tick, units, nowMs + tickMs(amount, periodMs) + periodMs + guardMs)
  }

  /** Corrects the cost of a group; false when the group is no longer there. */
  correct(limit: string, tick: string, difference: number): boolean {
    const group = this.#groups.get(limit)?.get(tick)
    if (group === undefined) return false
    group.units = Math.max(0, group.units + difference)
    return true
  }

  /** Takes out the groups whose period is over. */
  takeDue(nowMs: number): AnsweredGroup[] {
    const due: AnsweredGroup[] = []
    for (const groups of this.#groups.values()) {
      for (const group of groups.values()) {
        if (group.dueMs > nowMs) break
        due.push(group)
        groups.delete(group.tick)
        this.#size -= 1
      }
    }
    return due
  }

  /** When the next group comes back. */
  nextDueMs(): number {
    let next = Infinity
    for (const groups of this.#groups.values()) {
      for (const { dueMs } of groups.values()) {
        next = Math.min(next, dueMs)
        break
      }
    }
    return next
  }

  all(): readonly AnsweredGroup[] {
    return [...this.#groups.values()].flatMap((groups) => [...groups.values()])
  }

  #begin(limit: string, tick: string, units: number, dueMs: number): void {
    const groups = this.#groups.get(limit) ?? new Map<string, AnsweredGroup>()
    this.#groups.set(limit, groups)
    groups.set(tick, { limit, tick, units, dueMs })
    this.#size += 1
  }
}

function tickMs(amount: number, periodMs: number): number {
  return amount <= 100 ? 1 : Math.max(1, periodMs / 1000)
}
