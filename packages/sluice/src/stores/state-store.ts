import { blankState, type State } from '../core/algorithms/state.ts'
import { checkOptionNames, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Answer, Ask, Charge } from '../core/engine/ask.ts'
import { decide, setEndUs } from '../core/engine/engine.ts'
import { packState, unpackState } from '../core/engine/pack-state.ts'
import { StoreError } from '../core/errors.ts'
import { runInMicrotask } from '../runtime/microtask.ts'
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
  /** Until when somebody waits for it, by the monotonic clock. */
  readonly endMs: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** Most transactions at once, and most keys of one. */
const [maxTransactions, maxKeys] = [4, 500]

/** No counter begins so. */
const markKey = '#mark'
/** A mark is written again when it is a day old, and kept for ten. */
const dayUs = 86_400_000_000

class StateStore implements Store {
  readonly name: string
  readonly abilities: StoreAbilities = { lossMark: { shardOf: () => 0, read: (_, withinMs) => this.#mark(withinMs) } }
  readonly #marks = new SingleFlight<string, number>()
  readonly #options: StateStoreOptions
  readonly #clock: Clock
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
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    if (this.#closed) return Promise.reject(this.#closedError())
    const keys = ask.charges.map(({ rule, subject }) => rule.prefix + subject)
    const endMs = this.#clock.monotonic() + withinMs
    const decided = new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ ask, keys, endMs, resolve, reject })
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
    for (const pending of this.#waiting) {
      const { keys } = pending
      if (own.size >= maxKeys || keys.some((key) => skipped.has(key))) {
        later.push(pending)
        for (const key of keys) skipped.add(key)
      } else {
        batch.push(pending)
        for (const key of keys) own.add(key)
      }
    }
    this.#waiting = later
    return batch
  }

  async #run(batch: readonly Pending[]): Promise<void> {
    const keys = [...new Set(batch.flatMap((pending) => pending.keys))]
    this.#running += 1
    for (const key of keys) this.#busy.add(key)
    await this.#transact(batch, keys)
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
  #checkTime({ endMs }: Pending): void {
    if (this.#clock.monotonic() >= endMs)
      throw new StoreError('timeout', `The store ${this.name} was busy until the deadline.`)
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
