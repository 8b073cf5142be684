import { bulkhead } from '../../breaker/wrappers/bulkhead.ts'
import { withTimeout } from '../../breaker/wrappers/with-timeout.ts'
import type { Clock } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { decodeKey } from '../../core/key.ts'
import { Deadlines } from '../../timing/deadlines.ts'
import { periodOf } from './period.ts'
import type { Recount, RecountPeriod } from './recount.ts'

const defaultConcurrency = 16
/**
 * A call that has not ended after this loses its place, so that sources that never answer do not end recounting for
 * good.
 */
const abandonedMs = 30_000
/** How many calls may wait for their turn; they leave when their time is up. */
const maxWaiting = 100_000

/** The takes of one subject, one after the other. */
interface Line {
  size: number
  last: Promise<unknown>
  /** The least cost that was refused: what waits and costs as much is refused too. */
  refusedCost: number
}

/**
 * Calls the source of truth of one rule: a bounded number of calls at once, and one per subject. Who counts the same
 * subject at the same time shares one call; takes of one subject wait for each other, and end with the first that is
 * refused.
 */
export class Source {
  readonly counts: boolean
  readonly takes: boolean
  readonly #recount: Recount
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #call: (work: () => Promise<unknown>, call: { readonly signal: AbortSignal }) => Promise<unknown>
  readonly #counting = new Map<string, Promise<number>>()
  readonly #lines = new Map<string, Line>()

  constructor(recount: Recount, clock: Clock) {
    this.#recount = recount
    this.#clock = clock
    this.#deadlines = new Deadlines(clock)
    this.takes = typeof recount !== 'function'
    this.counts = typeof recount === 'function' || recount.count !== undefined
    const concurrency = (typeof recount === 'function' ? undefined : recount.concurrency) ?? defaultConcurrency
    const run = (work: () => Promise<unknown>, _call: { readonly signal: AbortSignal }): Promise<unknown> => work()
    this.#call = bulkhead(concurrency, { queue: maxWaiting, clock })(withTimeout(abandonedMs, { clock })(run))
  }

  /** How much of the period is used, as far as the source knows. */
  count(charge: Charge, endMs: number): Promise<number> {
    const name = nameOf(charge, this.#clock)
    const known = this.#counting.get(name)
    if (known !== undefined) return known
    const { count } = typeof this.#recount === 'function' ? { count: this.#recount } : this.#recount
    const made = this.#inTime(charge, endMs, (key, period) => count!(key, period)).then((units) => {
      if (Number.isSafeInteger(units) && units >= 0) return units
      throw new StoreError('other', `recount.${charge.rule.name} returned ${units}; return a whole number of units.`)
    })
    this.#counting.set(name, made)
    made.catch(() => {}).finally(() => this.#counting.delete(name))
    return made
  }

  /** Whether the source grants the charge; asked once for each id. */
  take(charge: Charge, id: string, endMs: number): Promise<boolean> {
    const name = nameOf(charge, this.#clock)
    const line = this.#lines.get(name) ?? { size: 0, last: Promise.resolve(), refusedCost: Infinity }
    this.#lines.set(name, line)
    line.size += 1
    const source = this.#recount as Exclude<Recount, (...args: never[]) => unknown>
    const turn = line.last.then(async () => {
      if (charge.cost >= line.refusedCost) return false
      const granted = await this.#inTime(charge, endMs, (key, period) => source.take(key, period, id))
      if (granted !== true) line.refusedCost = Math.min(line.refusedCost, charge.cost)
      return granted === true
    })
    line.last = turn
      .catch(() => {})
      .finally(() => {
        line.size -= 1
        if (line.size === 0) this.#lines.delete(name)
      })
    return turn
  }

  close(): void {
    this.#deadlines.close()
  }

  async #inTime<T>(
    charge: Charge,
    endMs: number,
    ask: (key: ReturnType<typeof decodeKey>, period: RecountPeriod) => T | Promise<T>,
  ): Promise<T> {
    if (/(^|\/)~/.test(charge.subject))
      throw new StoreError('other', `A key of ${charge.rule.name} is too long to be kept, so it cannot be recounted.`)
    const late = new StoreError('timeout', `The source of ${charge.rule.name} did not answer before the deadline.`)
    // Nobody waits for it any more, and what it granted would be lost.
    if (this.#clock.monotonic() >= endMs) throw late
    const controller = new AbortController()
    const limit = charge.limits.limits[0]!
    const { startMs, endMs: periodEndMs } = periodOf(charge, this.#clock.now())
    const period = { limit: limit.name, start: new Date(startMs), end: new Date(periodEndMs), amount: limit.amount }
    const call = { signal: controller.signal }
    const work = async (): Promise<unknown> => ({
      value: await ask(decodeKey(charge.subject), { ...period, cost: charge.cost, ...call }),
    })
    const answered = (await this.#deadlines.inTime(this.#call(work, call), endMs)) as { value: T } | undefined
    if (answered !== undefined) return answered.value
    controller.abort(late)
    throw late
  }
}

function nameOf(charge: Charge, clock: Clock): string {
  return `${periodOf(charge, clock.now()).startMs} ${charge.subject}`
}
