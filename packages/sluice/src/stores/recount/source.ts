import { bulkhead } from '../../breaker/wrappers/bulkhead.ts'
import { withTimeout } from '../../breaker/wrappers/with-timeout.ts'
import type { Clock } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { StoreError, show } from '../../core/errors.ts'
import { decodeKey } from '../../core/key.ts'
import { backgroundClock } from '../../runtime/background-clock.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { periodOf } from './known-subjects.ts'
import type { Recount, RecountPeriod } from './recount.ts'

const defaultConcurrency = 16
/**
 * A call that has not ended after this no longer counts as running, so that sources that never answer do not end
 * recounting for good.
 */
const abandonedMs = 30_000
/** How many calls may wait for their turn; they leave when their time is up. */
const maxWaiting = 100_000

/** The takes of one subject, one after the other. */
interface Line {
  size: number
  /** Settles when the last call of the source has ended, with or without a waiter. */
  last: Promise<void>
  /** The least cost that was refused: what waits and costs as much is refused too. */
  refusedCost: number
}

/** A count that any number of decisions wait for. */
interface Counting {
  readonly call: Call<number>
  waiting: number
}

/** A call of the source in flight. */
interface Call<T> {
  readonly result: Promise<T>
  /** Settles with the function itself, or when it is given up. */
  readonly ended: Promise<void>
  readonly signal: AbortSignal
  /** Nobody waits for the result any more. */
  abort(reason: Error): void
}

/** A call of the source that did not answer, or not as it should. */
export interface SourceFailure {
  readonly error: StoreError
  readonly atMs: number
}

type Ask<T> = (key: ReturnType<typeof decodeKey>, period: RecountPeriod) => T | Promise<T>

/**
 * Calls the source of truth of one rule: a bounded number of calls at once, and one per subject, also when nobody waits
 * for them any more. Who counts the same subject at the same time shares one call; takes of one subject wait for each
 * other, and end with the first that is refused.
 */
export class Source {
  readonly counts: boolean
  readonly takes: boolean
  readonly #recount: Recount
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #run: (work: () => Promise<unknown>) => Promise<unknown>
  readonly #counting = new Map<string, Counting>()
  readonly #lines = new Map<string, Line>()
  #failure: SourceFailure | undefined

  constructor(recount: Recount, clock: Clock) {
    this.#recount = recount
    this.#clock = clock
    this.#deadlines = new Deadlines(clock)
    this.takes = typeof recount !== 'function'
    this.counts = typeof recount === 'function' || recount.count !== undefined
    const concurrency = (typeof recount === 'function' ? undefined : recount.concurrency) ?? defaultConcurrency
    const run = (work: () => Promise<unknown>): Promise<unknown> => work()
    // A call that nobody waits for must not keep the process alive, such as after the limiter was closed.
    const limited = withTimeout(abandonedMs, { clock: backgroundClock(clock) })(run)
    this.#run = bulkhead(concurrency, { queue: maxWaiting, clock })(limited)
  }

  /** How much of the period is used, as far as the source knows. Rejects with a `StoreError` of kind `source`. */
  async count(charge: Charge, endMs: number): Promise<number> {
    const name = this.#nameOf(charge)
    if (this.#clock.monotonic() >= endMs) throw late(charge)
    for (;;) {
      const counting = this.#counting.get(name) ?? this.#startCount(name, charge)
      if (!counting.call.signal.aborted) return await this.#waitForCount(counting, charge, endMs)
      // Nobody waited for that call any more. The next begins when it has ended.
      await this.#inTime(counting.call.ended, charge, endMs)
    }
  }

  /** Whether the source grants the charge; asked once for each id. Rejects with a `StoreError` of kind `source`. */
  take(charge: Charge, id: string, endMs: number): Promise<boolean> {
    const name = this.#nameOf(charge)
    const line = this.#lines.get(name) ?? { size: 0, last: Promise.resolve(), refusedCost: Infinity }
    this.#lines.set(name, line)
    line.size += 1
    const call = line.last.then(() => {
      // Nobody waits for it after the deadline, and what it granted would be lost.
      const isWanted = charge.cost < line.refusedCost && this.#clock.monotonic() < endMs
      return isWanted ? this.#startTake(charge, id) : undefined
    })
    const granted = call.then(async (started) => {
      const answer = (await started?.result) ?? false
      if (!answer) line.refusedCost = Math.min(line.refusedCost, charge.cost)
      return answer
    })
    line.last = call
      .then((started) => started?.ended)
      .finally(() => {
        line.size -= 1
        if (line.size === 0) this.#lines.delete(name)
      })
    return this.#inTime(granted, charge, endMs).catch(async (error) => {
      // Also ends a call that begins only now.
      void call.then((started) => started?.abort(error))
      throw error
    })
  }

  /** How the last call failed; undefined when it did not. */
  get failure(): SourceFailure | undefined {
    return this.#failure
  }

  close(): void {
    this.#deadlines.close()
  }

  #startCount(name: string, charge: Charge): Counting {
    const { count } = typeof this.#recount === 'function' ? { count: this.#recount } : this.#recount
    const call = this.#start(charge, async (key, period) => {
      const units: unknown = await count!(key, period)
      if (Number.isSafeInteger(units) && (units as number) >= 0) return units as number
      throw wrongResult(charge, this.takes ? '.count' : '', units, 'a whole number of units from 0')
    })
    const counting: Counting = { call, waiting: 0 }
    this.#counting.set(name, counting)
    void call.ended.then(() => this.#counting.delete(name))
    return counting
  }

  async #waitForCount(counting: Counting, charge: Charge, endMs: number): Promise<number> {
    counting.waiting += 1
    try {
      return await this.#inTime(counting.call.result, charge, endMs)
    } catch (error) {
      if (counting.waiting === 1) counting.call.abort(error as Error)
      throw error
    } finally {
      counting.waiting -= 1
    }
  }

  #startTake(charge: Charge, id: string): Call<boolean> {
    const source = this.#recount as Exclude<Recount, (...args: never[]) => unknown>
    return this.#start(charge, async (key, period) => {
      const granted: unknown = await source.take(key, period, id)
      if (typeof granted === 'boolean') return granted
      throw wrongResult(charge, '.take', granted, 'true or false')
    })
  }

  #start<T>(charge: Charge, ask: Ask<T>): Call<T> {
    const controller = new AbortController()
    const { signal } = controller
    const result = this.#run(async () => {
      if (signal.aborted) throw late(charge)
      if (/(^|\/)~/.test(charge.subject))
        throw new StoreError(
          'source',
          `A key of ${charge.rule.name} is too long to be kept, so it cannot be recounted.`,
        )
      const { name, amount } = charge.limits.limits[0]!
      const { startMs, endMs } = periodOf(charge, this.#clock.now())
      const { cost } = charge
      const period = { limit: name, start: new Date(startMs), end: new Date(endMs), amount, cost, signal }
      return ask(decodeKey(charge.subject), period)
    }).then(
      (value) => {
        this.#failure = undefined
        return value as T
      },
      (error) => {
        throw this.#failed(sourceError(charge, error))
      },
    )
    return { result, ended: result.then(ignore, ignore), signal, abort: (reason) => controller.abort(reason) }
  }

  #inTime<T>(result: Promise<T>, charge: Charge, endMs: number): Promise<T> {
    return this.#deadlines.inTime(result, endMs, () => this.#failed(late(charge)))
  }

  #failed(error: StoreError): StoreError {
    this.#failure = { error, atMs: this.#clock.monotonic() }
    return error
  }

  /** Who counts what: a subject in a period. */
  #nameOf(charge: Charge): string {
    return `${periodOf(charge, this.#clock.now()).startMs} ${charge.subject}`
  }
}

function late({ rule }: Charge): StoreError {
  return new StoreError('source', `The source of ${rule.name} did not answer before the deadline.`)
}

function wrongResult({ rule }: Charge, form: string, value: unknown, right: string): StoreError {
  const shown = typeof value === 'number' ? value : show(value)
  return new StoreError('source', `recount.${rule.name}${form} returned ${shown}; return ${right}.`)
}

function sourceError({ rule }: Charge, error: unknown): StoreError {
  if (error instanceof StoreError && error.kind === 'source') return error
  const why = (error as Error)?.message ?? String(error)
  return new StoreError('source', `The source of ${rule.name} failed: ${why}`, { cause: error })
}

function ignore(): void {}
