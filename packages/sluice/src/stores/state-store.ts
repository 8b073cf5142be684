import { blankState, type State } from '../core/algorithms/state.ts'
import { checkOptionNames, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Answer, Ask, Charge } from '../core/engine/ask.ts'
import { decide, setEndUs } from '../core/engine/engine.ts'
import { packState, unpackState } from '../core/engine/pack-state.ts'
import { StoreError } from '../core/errors.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Store, StoreHealth } from './store.ts'

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
   * it may do all of it again. When it rejects, nothing must have been written.
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

class StateStore implements Store {
  readonly name: string
  readonly #options: StateStoreOptions
  readonly #clock: Clock
  /** By key: the last ask about it that has not ended. Asks about one key are decided in the order of asking. */
  readonly #tails = new Map<string, Promise<unknown>>()
  #closed = false

  constructor(options: StateStoreOptions) {
    this.name = options.name
    this.#options = options
    this.#clock = options.clock ?? systemClock()
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    const keys = ask.charges.map(({ rule, subject }) => rule.prefix + subject)
    const endMs = this.#clock.monotonic() + withinMs
    const before = keys.flatMap((key) => this.#tails.get(key) ?? [])
    const deciding = this.#closed
      ? Promise.reject(new StoreError('closed', `The store ${this.name} is closed.`))
      : Promise.all(before).then(() => this.#decide(ask, keys, endMs))
    const ended = deciding.then(ignore, ignore).then(() => {
      for (const key of keys) if (this.#tails.get(key) === ended) this.#tails.delete(key)
    })
    for (const key of keys) this.#tails.set(key, ended)
    return deciding
  }

  async health(withinMs: number): Promise<StoreHealth> {
    return (await this.#options.health?.(withinMs)) ?? { reachable: true, roundTripMs: 0, warnings: [], details: {} }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.all(this.#tails.values())
    await this.#options.close?.()
  }

  async #decide(ask: Ask, keys: readonly string[], endMs: number): Promise<Answer> {
    const withinMs = endMs - this.#clock.monotonic()
    // Nobody waits for it any more, so nothing must be charged.
    if (withinMs <= 0) throw new StoreError('timeout', `The store ${this.name} was busy until the deadline.`)
    let answer: Answer | undefined
    const decideOn: DecideOnValues = (values, nowUs) => {
      const decided = decideOnValues(ask, keys, values, nowUs)
      answer = decided.answer
      return decided.writes
    }
    try {
      await this.#options.transact(keys, decideOn, withinMs)
    } catch (error) {
      if (error instanceof StoreError) throw error
      throw new StoreError('other', `${this.name}: ${(error as Error)?.message ?? error}`, { cause: error })
    }
    if (answer === undefined) throw new StoreError('other', `transact of the store ${this.name} did not decide.`)
    return answer
  }
}

function ignore(): void {}

function decideOnValues(
  ask: Ask,
  keys: readonly string[],
  values: readonly (string | undefined)[],
  clockUs: number,
): { answer: Answer; writes: StateWrite[] } {
  let nowUs = Math.floor(clockUs)
  const states = ask.charges.map((charge, c) => {
    const found = read(charge, keys[c]!, values[c], ask.kind === 'reset')
    // A clock that went back must not repeat a window.
    nowUs = Math.max(nowUs, found.writtenUs)
    return found.state
  })
  const answer = decide(ask, states, nowUs)
  const writes: StateWrite[] = []
  if (ask.kind !== 'peek') {
    for (const [c, { limits }] of ask.charges.entries()) {
      const expiresUs = setEndUs(limits, states[c]!, nowUs)
      const value = expiresUs <= nowUs ? undefined : packState(limits, states[c]!, nowUs)
      if (value !== undefined || values[c] !== undefined) writes.push({ key: keys[c]!, value, expiresUs })
    }
  }
  return { answer, writes }
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
