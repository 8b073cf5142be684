import { blankState, type State } from '../../core/algorithms/state.ts'
import { checkOptionNames } from '../../core/check-options.ts'
import type { Clock, TimeSource } from '../../core/clock.ts'
import type { Answer, Ask, Charge, ChargedRule, ChargeTerms } from '../../core/engine/ask.ts'
import { convertState, forgetEnded } from '../../core/engine/convert-state.ts'
import { decide, setEndUs, takeOne } from '../../core/engine/engine.ts'
import { invalidOption, StoreError } from '../../core/errors.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import type { Store, StoreAbilities, StoreHealth } from '../store.ts'
import { BackgroundSweep } from './background-sweep.ts'
import { type ChargedState, keepFromEviction, keepSubject, type Row } from './charged-state.ts'
import { makeRoom, sweep } from './sweep.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** Most subjects kept at once. Beyond it, subjects that still have units left make way for new ones. */
  readonly maxSubjects?: number
  readonly clock?: TimeSource
}

const defaults = Object.freeze({ maxSubjects: 1_000_000 })

/** A memory store that also reports how many subjects it has. */
export interface MemoryStore extends Store {
  readonly size: number
}

/**
 * Keeps counters in this process: exact within it and bounded in number. Expired subjects are forgotten in the
 * background.
 *
 * When it is full, a new subject evicts an expired one, or the one soonest forgotten among those that
 * still have units left. A subject that is denied or has nothing left never makes way; if all are like that, the store
 * fails with kind `full` and the rule's `onStoreFailure` decides.
 *
 * @example createLimiter({ policy, store: memoryStore({ maxSubjects: 100_000 }) })
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptionNames('memoryStore', options, ['maxSubjects', 'clock'])
  const maxSubjects = options.maxSubjects ?? defaults.maxSubjects
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1) {
    throw invalidOption('memoryStore.maxSubjects', maxSubjects, 'use a whole number of subjects from 1')
  }
  return new InProcess(maxSubjects, options.clock ?? systemClock())
}

/** Whether a store is one of `memoryStore`, and not of somebody else. */
export function isMemoryStore(store: Store): store is MemoryStore {
  return store instanceof InProcess
}

/** For how long a store that had to refuse a new subject is not well. */
const refusedForUs = 60_000_000

const nothing = new Float64Array(0)
const nobody: ReadonlySet<string> = new Set()

class InProcess implements MemoryStore {
  readonly name = 'memory'
  readonly abilities: StoreAbilities
  readonly #maxSubjects: number
  readonly #clock: TimeSource & Partial<Clock>
  /** By prefix; a rule whose limits changed, or differ between tiers, has several. */
  readonly #tables = new Map<string, Table[]>()
  readonly #one: [State] = [{ n: nothing, at: 0, extra: undefined }]
  /** What was asked for last is mostly asked for next. */
  #lastRule: ChargedRule | undefined
  #lastTable: Table | undefined
  #size = 0
  /** When a new subject was last refused because none could make way (us). */
  #refusedUs = -Infinity
  readonly #sweep: BackgroundSweep
  #closed = false

  constructor(maxSubjects: number, clock: TimeSource & Partial<Clock>) {
    this.#maxSubjects = maxSubjects
    this.#clock = clock
    this.#sweep = new BackgroundSweep(clock, this.#tables, (subjects) => {
      this.#size -= subjects
      return this.#size > 0
    })
    const createdUs = clock.now()
    this.abilities = {
      inProcess: true,
      // A new store is empty: counts from before this moment are lost.
      continuity: { shardOf: () => 0, connection: () => 0, intactSinceUs: () => createdUs },
    }
  }

  get size(): number {
    return this.#size
  }

  decide(ask: Ask): Answer {
    if (this.#closed) throw new StoreError('closed', 'The memory store is closed.')
    if (ask.charges.length !== 1) return this.#decideMany(ask, this.#clock.now())
    const charge = ask.charges[0]!
    const now = this.#nowFor(charge)
    const table = this.#tableOf(charge)
    const row = table.rowOf(charge)
    if (row !== undefined) return this.#decideKnown(ask, table, row, now)
    if (ask.kind === 'take' && this.#tables.get(charge.rule.prefix)!.length === 1)
      return this.#decideNew(ask, charge, table, now)
    return this.#decideMany(ask, now)
  }

  async health(): Promise<StoreHealth> {
    const full = this.#size >= this.#maxSubjects
    const refuses = this.#clock.now() - this.#refusedUs < refusedForUs
    const warnings = full
      ? [`The memory store holds its maximum of ${this.#maxSubjects} subjects; raise maxSubjects or use Redis.`]
      : []
    return {
      reachable: true,
      ...(refuses ? { ok: false } : {}),
      roundTripMs: 0,
      warnings,
      details: { subjects: this.#size, maxSubjects: this.#maxSubjects },
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#sweep.stop()
    this.#tables.clear()
    this.#lastTable = undefined
    this.#size = 0
  }

  #decideKnown(ask: Ask, table: Table, row: number, now: number): Answer {
    const state = table.lend(row, this.#one[0])
    // Most subjects have nothing but numbers, and then there are no holds to expire.
    if (ask.kind === 'take' && ask.hold === undefined && state.extra === undefined && ask.charges[0]!.limits.plain) {
      const answer = takeOne(ask.charges[0]!, state, ask.copies, now)
      if (state.extra !== undefined) table.keepExtra(row, state.extra)
      keepFromEviction(table, row, answer, 0)
      return answer
    }
    const answer = decide(ask, this.#one, now)
    if (ask.kind === 'reset') this.#remove({ table, row })
    else {
      if (state.extra !== undefined) {
        forgetEnded(state, now)
        table.keepExtra(row, state.extra)
      }
      if (ask.kind === 'take' || ask.kind === 'block') keepFromEviction(table, row, answer, 0)
    }
    return answer
  }

  #decideNew(ask: Ask, charge: Charge, table: Table, now: number): Answer {
    this.#makeRoom(table, 1, now, nobody)
    const row = this.#add(table, charge.subject)
    const state = table.lend(row, this.#one[0])
    const answer = decide(ask, this.#one, now)
    if (answer.granted === 0 && (charge.limits.block === undefined || state.extra === undefined))
      this.#remove({ table, row })
    else {
      if (state.extra !== undefined) table.keepExtra(row, state.extra)
      keepFromEviction(table, row, answer, 0)
    }
    return answer
  }

  #decideMany(ask: Ask, now: number): Answer {
    const { charges } = ask
    if (ask.kind === 'take' || ask.kind === 'debit' || ask.kind === 'raise' || ask.kind === 'block')
      this.#makeRoomFor(charges, now)
    const charged = charges.map((charge) => this.#chargedState(charge))
    const states = charged.map(({ state }) => state)
    const answer = decide(ask, states, now)
    const wrote =
      ask.kind !== 'peek' &&
      (answer.granted > 0 || charges.some(({ limits }) => limits.block !== undefined || limits.shared))
    for (const [c, each] of charged.entries()) {
      if (ask.kind === 'reset') this.#forget(each)
      else if (each.row !== undefined) each.table.keepExtra(each.row, each.state.extra)
      const kept = wrote && each.row === undefined && ask.kind !== 'reset' ? this.#giveRow(each, now) : each
      if (ask.kind === 'take' || ask.kind === 'block') keepSubject(kept, answer, c)
    }
    return answer
  }

  /** Makes room for those that are new. Done before anything is decided, since afterwards it must not fail. */
  #makeRoomFor(charges: readonly Charge[], now: number): void {
    const stay = new Set(charges.map(({ subject }) => subject))
    const isNew = (charge: Charge): boolean => {
      const table = this.#tableOf(charge)
      return table.rowOf(charge) === undefined && this.#elsewhere(charge, table) === undefined
    }
    const coming = charges.filter(isNew)
    for (const [c, charge] of coming.entries()) this.#makeRoom(this.#tableOf(charge), coming.length - c, now, stay)
  }

  /** Lets go of what has expired, and, if need be, of others, until so many more fit. */
  #makeRoom(table: Table, count: number, now: number, stay: ReadonlySet<string>): void {
    this.#size -= sweep(table, now, 2, stay)
    while (this.#size + count > this.#maxSubjects) {
      if (!makeRoom(table, this.#tables, now, stay)) {
        this.#refusedUs = this.#clock.now()
        throw new StoreError(
          'full',
          `The memory store holds ${this.#size} subjects and all of those looked at are denied; raise maxSubjects.`,
        )
      }
      this.#size -= 1
    }
  }

  #chargedState(charge: Charge): ChargedState {
    const table = this.#tableOf(charge)
    const row = table.rowOf(charge)
    if (row !== undefined) {
      return {
        charge,
        table,
        row,
        state: table.lend(row, { n: nothing, at: 0, extra: undefined }),
        elsewhere: undefined,
      }
    }
    const elsewhere = this.#elsewhere(charge, table)
    const state =
      elsewhere === undefined
        ? blankState(table.set.fields)
        : convertState(elsewhere.table.lend(elsewhere.row, blankState(0)), elsewhere.table.set, table.set)
    return { charge, table, row, state, elsewhere }
  }

  /** Gives a state a row, if there is anything to remember. */
  #giveRow(charged: ChargedState, now: number): ChargedState {
    const { charge, table, state, elsewhere } = charged
    const deniedUs = elsewhere?.table.deniedUntilUs(elsewhere.row) ?? 0
    if (elsewhere !== undefined) this.#remove(elsewhere)
    forgetEnded(state, now)
    if (setEndUs(table.set, state, now) <= now) return { ...charged, elsewhere: undefined }
    const row = this.#add(table, charge.subject)
    const kept = table.lend(row, { n: nothing, at: 0, extra: undefined })
    kept.n.set(state.n, kept.at)
    table.keepExtra(row, state.extra)
    if (deniedUs > now) table.deny(row, deniedUs)
    return { ...charged, row, elsewhere: undefined }
  }

  #forget({ table, row, elsewhere }: ChargedState): void {
    if (row !== undefined) this.#remove({ table, row })
    if (elsewhere !== undefined) this.#remove(elsewhere)
  }

  #add(table: Table, subject: string): number {
    this.#size += 1
    this.#sweep.start()
    return table.add(subject)
  }

  #remove({ table, row }: Row): void {
    table.remove(row)
    this.#size -= 1
  }

  /**
   * Where a subject stands among the tables of its rule's other layouts, if anywhere: it has at most one row in all of
   * them.
   */
  #elsewhere(charge: Charge, here: Table): Row | undefined {
    for (const table of this.#tables.get(charge.rule.prefix)!) {
      const row = table === here ? undefined : table.rowOf(charge)
      if (row !== undefined) return { table, row }
    }
    return undefined
  }

  #nowFor({ limits }: ChargeTerms): number {
    return limits.coarse && this.#clock.coarse ? this.#clock.coarse() : this.#clock.now()
  }

  #tableOf(charge: ChargeTerms): Table {
    if (charge.rule === this.#lastRule && charge.limits === this.#lastTable?.set) return this.#lastTable
    this.#lastRule = charge.rule
    this.#lastTable = this.#findTable(charge)
    return this.#lastTable
  }

  #findTable(charge: ChargeTerms): Table {
    const { prefix } = charge.rule
    const tables = this.#tables.get(prefix)
    if (tables === undefined) {
      const table = new Table(charge.limits)
      this.#tables.set(prefix, [table])
      return table
    }
    for (const table of tables)
      if (table.set === charge.limits || table.set.layout === charge.limits.layout) return table
    const table = new Table(charge.limits)
    tables.push(table)
    return table
  }
}
