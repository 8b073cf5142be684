import { blankState, type State } from '../core/algorithms/state.ts'
import { checkOptionNames, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Answer, Ask, Charge } from '../core/engine/ask.ts'
import { decide, setEndUs } from '../core/engine/engine.ts'
import { packState, unpackState } from '../core/engine/pack-state.ts'
import { StoreError } from '../core/errors.ts'
import { overloaded } from '../redis/runner/late-call.ts'
import { Deadlines } from '../runtime/deadlines.ts'
import { runInMicrotask } from '../runtime/microtask.ts'
import { OwnLateness } from '../runtime/own-lateness.ts'
import { SingleFlight } from '../runtime/single-flight.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Store, StoreAbilities, StoreHealth } from './store.ts'

/** What a decision writes to one key. */
export interface StateWrite {
  readonly key: string
  /** Undefined removes the key. */
  readonly value: string | undefined
  /** From when on the value no longer matters and may be removed, in microseconds since the epoch. */
  readonly expiresUs: number
}

/** Decides on the values of the keys, in their order; `undefined` for a key that has none. */
export type DecideOnValues = (values: readonly (string | undefined)[], nowUs: number) => readonly StateWrite[]

export interface StateStoreOptions {
  readonly name: string
  /**
   * Reads the values of distinct keys, calls `decideOn` with them and the time of the database, and writes what that
   * returns. All of it is one transaction: no other transaction reads or writes these keys in between. After a conflict
   * it may do all of it again. When it rejects, nothing must have been written. Asks of the same moment come together,
   * so the keys may be of several; up to five transactions run at once, never two with a key in common.
   */
  transact(keys: readonly string[], decideOn: DecideOnValues, withinMs: number): Promise<void> | void
  health?(withinMs: number): Promise<StoreHealth>
  close?(): Promise<void>
  /** For deadlines, in tests; the system's time when left out. */
  readonly clock?: Clock
}

const names = optionNames<StateStoreOptions>({ name: true, transact: true, health: true, close: true, clock: true })

/**
 * A store on anything that can read and write texts by key in a transaction. All algorithms, holds and changed limits
 * come with it.
 *
 * @example
 * const values = new Map<string, string>()
 * const store = stateStore({
 *   name: 'map',
 *   transact(keys, decideOn) {
 *     for (const { key, value } of decideOn(keys.map((key) => values.get(key)), Date.now() * 1000))
 *       if (value === undefined) values.delete(key)
 *       else values.set(key, value)
 *   },
 * })
 */
export function stateStore(options: StateStoreOptions): Store {
  checkOptionNames('stateStore', options, names)
  return new StateStore(options)
}

/** One ask that waits for its transaction. */
interface Pending {
  readonly ask: Ask
  readonly keys: readonly string[]
  readonly askedMs: number
  /** Until when somebody waits for it, by the monotonic clock. */
  readonly endMs: number
  /** How late this process had been until it was asked. */
  readonly lateMs: number
  /** When its transaction began; `Infinity` before that. */
  sentMs: number
  hasEnded: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Most transactions at once, and most keys and asks of one: with more, all of them would be late together, and a
 * database that is well would look as if it did not answer.
 */
const [maxTransactions, maxKeys, maxAsks] = [4, 500, 500]
/** Most asks that wait. More cannot be decided in time, and to look through them would make all others late. */
const maxWaiting = 20_000

/** No counter begins so. */
const markKey = '#mark'
/** A mark is written again when it is a day old, and kept for ten. */
const dayUs = 86_400_000_000

class StateStore implements Store {
  readonly name: string
  readonly abilities: StoreAbilities = {
    keepsDeadlines: true,
    lossMark: { shardOf: () => 0, read: (_, withinMs) => this.#mark(withinMs) },
  }
  readonly #marks = new SingleFlight<string, number>()
  readonly #options: StateStoreOptions
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #lateness: OwnLateness
  /** How many asks have not been answered. */
  #open = 0
  /** When each transaction that runs began, the oldest first. */
  readonly #begun = new Set<{ readonly atMs: number }>()
  #waiting: Pending[] = []
  /** The keys of the transactions that run. */
  readonly #busy = new Set<string>()
  #running = 0
  #isScheduled = false
  #closed = false
  #whenIdle: (() => void) | undefined

  constructor(options: StateStoreOptions) {
    this.name = options.name
    this.#options = options
    this.#clock = options.clock ?? systemClock()
    this.#deadlines = new Deadlines(this.#clock)
    this.#lateness = new OwnLateness(this.#clock, () => this.#open > 0)
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    if (this.#closed) return Promise.reject(this.#closedError())
    if (this.#waiting.length >= maxWaiting) return Promise.reject(overloaded())
    const keys = ask.charges.map(({ rule, subject }) => rule.prefix + subject)
    const askedMs = this.#clock.monotonic()
    const endMs = askedMs + withinMs
    this.#lateness.start()
    this.#open += 1
    const decided = new Promise<Answer>((resolve, reject) => {
      const deadline = this.#deadlines.add(endMs, () => pending.reject(this.#whyLate(pending)))
      const ending = <Value>(settle: (value: Value) => void) => {
        return (value: Value): void => {
          if (pending.hasEnded) return
          pending.hasEnded = true
          deadline.cancel()
          this.#open -= 1
          settle(value)
        }
      }
      const pending: Pending = {
        ...{ ask, keys, askedMs, endMs, lateMs: this.#lateness.at(askedMs), sentMs: Infinity, hasEnded: false },
        resolve: ending(resolve),
        reject: ending(reject),
      }
      this.#waiting.push(pending)
    })
    this.#schedule()
    return decided
  }

  async health(withinMs: number): Promise<StoreHealth> {
    return (await this.#options.health?.(withinMs)) ?? { reachable: true, roundTripMs: 0, warnings: [], details: {} }
  }

  #mark(withinMs: number): Promise<number> {
    return this.#marks.startLater(markKey, async () => {
      let mark: number | undefined
      const decideOn: DecideOnValues = ([value], nowUs) => {
        const [since, writtenUs] = value === undefined ? [Math.floor(nowUs), 0] : value.split(' ').map(Number)
        mark = since!
        if (nowUs - writtenUs! < dayUs) return []
        return [{ key: markKey, value: `${mark} ${Math.floor(nowUs)}`, expiresUs: nowUs + 10 * dayUs }]
      }
      if (this.#closed) throw this.#closedError()
      this.#running += 1
      try {
        await this.#options.transact([markKey], decideOn, withinMs)
      } catch (error) {
        throw this.#failureOf(error)
      } finally {
        this.#running -= 1
        this.#schedule()
      }
      return mark!
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#running > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    this.#deadlines.close()
    await this.#options.close?.()
  }

  /** Asks of one turn share a transaction, and so do those that come while all transactions run. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    runInMicrotask(() => {
      this.#isScheduled = false
      while (this.#running < maxTransactions) {
        const batch = this.#nextBatch()
        if (batch.length === 0) break
        void this.#run(batch)
      }
      if (this.#running === 0 && this.#waiting.length === 0) this.#whenIdle?.()
    })
  }

  /** The asks that can be decided now. Those about one key are decided in the order of asking. */
  #nextBatch(): Pending[] {
    const [batch, later]: [Pending[], Pending[]] = [[], []]
    const [own, skipped] = [new Set<string>(), new Set(this.#busy)]
    let p = 0
    for (; p < this.#waiting.length && own.size < maxKeys && batch.length < maxAsks; p++) {
      const pending = this.#waiting[p]!
      const { keys } = pending
      if (pending.hasEnded) continue
      if (keys.some((key) => skipped.has(key))) {
        later.push(pending)
        for (const key of keys) skipped.add(key)
      } else {
        batch.push(pending)
        for (const key of keys) own.add(key)
      }
    }
    this.#waiting = later.concat(this.#waiting.slice(p))
    return batch
  }

  async #run(batch: readonly Pending[]): Promise<void> {
    const keys = [...new Set(batch.flatMap((pending) => pending.keys))]
    this.#running += 1
    for (const key of keys) this.#busy.add(key)
    const begun = { atMs: this.#clock.monotonic() }
    this.#begun.add(begun)
    for (const pending of batch) pending.sentMs = begun.atMs
    await this.#transact(batch, keys)
    this.#begun.delete(begun)
    this.#running -= 1
    for (const key of keys) this.#busy.delete(key)
    this.#schedule()
  }

  async #transact(batch: readonly Pending[], keys: readonly string[]): Promise<void> {
    const withinMs = Math.max(...batch.map(({ endMs }) => endMs)) - this.#clock.monotonic()
    let outcomes: readonly Outcome[] | undefined
    const decideOn: DecideOnValues = (values, nowUs) => {
      const decided = decideOnValues(batch, keys, values, nowUs, (pending) => this.#checkTime(pending))
      outcomes = decided.outcomes
      return decided.writes
    }
    try {
      for (const pending of withinMs > 0 ? [] : batch) this.#checkTime(pending)
      await this.#options.transact(keys, decideOn, withinMs)
      if (outcomes === undefined) throw new Error('transact did not decide')
    } catch (error) {
      for (const { reject } of batch) reject(this.#failureOf(error))
      return
    }
    for (const [b, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[b]!
      if (outcome instanceof StoreError) reject(outcome)
      else resolve(outcome)
    }
  }

  #closedError(): StoreError {
    return new StoreError('closed', `The store ${this.name} is closed.`)
  }

  #failureOf(error: unknown): StoreError {
    if (error instanceof StoreError) return error
    return new StoreError('other', `${this.name}: ${(error as Error)?.message ?? error}`, { cause: error })
  }

  /** Nobody waits for what is late any more, so nothing must be charged. */
  #checkTime(pending: Pending): void {
    if (pending.hasEnded || this.#clock.monotonic() >= pending.endMs) throw this.#whyLate(pending)
  }

  /** That an ask waited in this process, or that the process itself was late, says nothing against the database. */
  #whyLate({ askedMs, endMs, lateMs, sentMs }: Pending): StoreError {
    const nowMs = this.#clock.monotonic()
    const mostMs = (endMs - askedMs) / 2
    const [oldest] = this.#begun
    const owedMs = oldest === undefined ? 0 : nowMs - oldest.atMs
    const isKept = Math.min(sentMs, nowMs) - askedMs >= mostMs && owedMs < mostMs
    if (isKept || this.#lateness.at(nowMs) - lateMs >= mostMs) return overloaded()
    return new StoreError('timeout', `The store ${this.name} did not answer before the deadline.`)
  }
}

type Outcome = Answer | StoreError

/** Decides one ask after the other, each on what those before it have left. */
function decideOnValues(
  batch: readonly Pending[],
  keys: readonly string[],
  values: readonly (string | undefined)[],
  clockUs: number,
  checkTime: (pending: Pending) => void,
): { readonly outcomes: readonly Outcome[]; readonly writes: readonly StateWrite[] } {
  const present = new Map(keys.map((key, k) => [key, values[k]]))
  const writes = new Map<string, StateWrite>()
  const outcomes = batch.map((pending): Outcome => {
    try {
      checkTime(pending)
      return decideOne(pending, present, writes, clockUs)
    } catch (error) {
      if (error instanceof StoreError) return error
      throw error
    }
  })
  return { outcomes, writes: [...writes.values()] }
}

function decideOne(
  { ask, keys }: Pending,
  present: Map<string, string | undefined>,
  writes: Map<string, StateWrite>,
  clockUs: number,
): Answer {
  let nowUs = Math.floor(clockUs)
  const states = ask.charges.map((charge, c) => {
    const found = read(charge, keys[c]!, present.get(keys[c]!), ask.kind === 'reset')
    // A clock that went back must not repeat a window.
    nowUs = Math.max(nowUs, found.writtenUs)
    return found.state
  })
  const answer = decide(ask, states, nowUs)
  if (ask.kind === 'peek') return answer
  for (const [c, { limits }] of ask.charges.entries()) {
    const key = keys[c]!
    const expiresUs = setEndUs(limits, states[c]!, nowUs)
    const value = expiresUs <= nowUs ? undefined : packState(limits, states[c]!, nowUs)
    if (value === undefined && present.get(key) === undefined && !writes.has(key)) continue
    present.set(key, value)
    writes.set(key, { key, value, expiresUs })
  }
  return answer
}

function read(
  { limits }: Charge,
  key: string,
  value: string | undefined,
  isReset: boolean,
): { readonly state: State; readonly writtenUs: number } {
  // What is reset need not be read: so a damaged value can be repaired.
  if (value === undefined || isReset) return { state: blankState(limits.fields), writtenUs: 0 }
  try {
    return unpackState(limits, value)
  } catch (error) {
    throw new StoreError('wrongtype', `A key of Sluice holds a value that is not its own: ${key}`, { cause: error })
  }
}
