import type { Key } from '../core/key.ts'
import { encodeKey } from '../core/key.ts'
import type { Decision } from '../limiter/decision/decision.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { sleep } from '../runtime/sleep.ts'

/** A rule that every record is charged to, in all workers together. */
export interface RateOptions<T = unknown> {
  readonly rule: string
  /** Whose limit it is; one for all records when left out. */
  readonly key?: (value: T) => Key
  /** Units of one record; 1 when left out. */
  readonly cost?: (value: T) => number
}

/** The key of a rate that is the same for all records. */
export const sharedKey = 'all'
/** A wait asks for at most this share of the limit, so that workers take turns. */
const chunkShare = 10
/** How often to look again at a limit that is below the cost of one record, or while too many wait. */
const longestWaitMs = 1000

interface Group {
  readonly key: Key
  /** Places of the records in the batch, and their costs. */
  readonly places: number[]
  readonly costs: number[]
  /** How many of them are paid for, from the first. */
  paid: number
  last: Decision | undefined
}

/** Pays for the records of one batch, in order for each key. */
export class BatchRate {
  readonly #limiter: Limiter
  readonly #rule: string
  readonly #groups = new Map<string, Group>()
  readonly #groupAt: Group[] = []
  /** How many records may be written, from the first of the batch. */
  granted = 0

  constructor(limiter: Limiter, { rule, key, cost }: RateOptions<never>, values: readonly unknown[]) {
    this.#limiter = limiter
    this.#rule = rule
    values.forEach((value, place) => {
      const own = key === undefined ? sharedKey : key(value as never)
      const name = encodeKey(own)
      const group = this.#groups.get(name) ?? { key: own, places: [], costs: [], paid: 0, last: undefined }
      this.#groups.set(name, group)
      group.places.push(place)
      group.costs.push(cost === undefined ? 1 : cost(value as never))
      this.#groupAt.push(group)
    })
  }

  /** Takes what the limits have now, for each key as many records as that pays for. */
  async takeNow(): Promise<void> {
    const open = [...this.#groups.values()].filter(({ paid, places }) => paid < places.length)
    await Promise.all(open.map((group) => this.#take(group)))
    this.#advance()
  }

  /** Waits until some of the first records that are not paid for are. */
  async wait(signal: AbortSignal): Promise<void> {
    const group = this.#groupAt[this.granted]!
    const amount = Math.min(...(group.last?.limits.map((limit) => limit.amount) ?? []))
    const count = Math.max(1, leading(group, amount / chunkShare))
    const cost = sum(group, count)
    const decision = await this.#limiter.wait(group.key, { rule: this.#rule, cost, signal })
    if (decision.allowed) group.paid += count
    else await sleep(longestWaitMs, this.#limiter.clock, signal)
    this.#advance()
  }

  async #take(group: Group): Promise<void> {
    let count = group.places.length - group.paid
    while (count > 0) {
      // Unlike `take`, it leaves the units to those in other workers who wait for them.
      const decision = await this.#limiter.wait(group.key, { rule: this.#rule, cost: sum(group, count), maxWait: 0 })
      if (decision.allowed) {
        group.paid += count
        return
      }
      group.last = decision
      const remaining = Math.min(...decision.limits.map((limit) => limit.remaining))
      // Where the store failed, there is nothing to go by.
      if (remaining === Number.POSITIVE_INFINITY) return
      count = Math.min(count - 1, leading(group, remaining))
    }
  }

  #advance(): void {
    while (this.granted < this.#groupAt.length) {
      const { places, paid } = this.#groupAt[this.granted]!
      if (paid < places.length && places[paid]! <= this.granted) return
      this.granted += 1
    }
  }
}

/** How many records of a group, from the first that is not paid for, cost no more than this. */
function leading({ costs, paid }: Group, units: number): number {
  let count = 0
  for (let left = units; paid + count < costs.length && costs[paid + count]! <= left; count++)
    left -= costs[paid + count]!
  return count
}

function sum({ costs, paid }: Group, count: number): number {
  return costs.slice(paid, paid + count).reduce((total, cost) => total + cost, 0)
}
