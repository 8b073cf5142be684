import type { Answer, Ask, Charge } from '../../core/ask.ts'
import type { Clock } from '../../core/clock.ts'
import { decide } from '../../core/engine.ts'
import { invalidOption, StoreError } from '../../core/errors.ts'
import type { State } from '../../core/state.ts'
import type { Store, StoreHealth } from '../store.ts'
import { systemClock } from '../system-clock.ts'
import { carryOver } from './carry-over.ts'
import { makeRoom, sweep } from './sweep.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** Most subjects kept at once. Beyond it, subjects that are not denied make way for new ones. */
  readonly maxSubjects?: number
  readonly clock?: Clock
}

const defaults = Object.freeze({ maxSubjects: 1_000_000 })

/** A memory store also tells how many subjects it holds. */
export interface MemoryStore extends Store {
  readonly size: number
}

/**
 * Keeps counters in this process: exact within it, bounded in number, without timers.
 *
 * When it is full, a new subject takes the place of an expired one, or of the one soonest forgotten among those not currently denied.
 * A denied subject never makes way; if all are, the store fails with kind `full` and the rule's `onStoreFailure` decides.
 *
 * @example createLimiter({ policy, store: memoryStore({ maxSubjects: 100_000 }) })
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const maxSubjects = options.maxSubjects ?? defaults.maxSubjects
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1) {
    throw invalidOption('memoryStore.maxSubjects', maxSubjects, 'use a whole number of subjects from 1')
  }
  return new InProcess(maxSubjects, options.clock ?? systemClock())
}

const nothing = new Float64Array(0)

class InProcess implements MemoryStore {
  readonly name = 'memory'
  readonly #maxSubjects: number
  readonly #clock: Clock
  /** By prefix; a rule whose limits changed, or differ between tiers, has several. */
  readonly #tables = new Map<string, Table[]>()
  readonly #one: [State] = [{ n: nothing, at: 0, extra: undefined }]
  #size = 0

  constructor(maxSubjects: number, clock: Clock) {
    this.#maxSubjects = maxSubjects
    this.#clock = clock
  }

  get size(): number {
    return this.#size
  }

  decide(ask: Ask): Answer {
    const now = this.#clock.now()
    return ask.charges.length === 1 ? this.#decideOne(ask, ask.charges[0]!, now) : this.#decideMany(ask, now)
  }

  async health(): Promise<StoreHealth> {
    const full = this.#size >= this.#maxSubjects
    const warnings = full ? [`The memory store holds its maximum of ${this.#maxSubjects} subjects; raise maxSubjects or use Redis.`] : []
    return { reachable: true, roundTripMs: 0, warnings, details: { subjects: this.#size, maxSubjects: this.#maxSubjects } }
  }

  async close(): Promise<void> {
    this.#tables.clear()
    this.#size = 0
  }

  #decideOne(ask: Ask, charge: Charge, now: number): Answer {
    const table = this.#tableOf(charge)
    const slot = this.#slotOf(table, charge, now)
    const state = table.lend(slot, this.#one[0])
    const answer = decide(ask, this.#one, now)
    this.#keep(ask, charge, table, slot, state, answer)
    return answer
  }

  #decideMany(ask: Ask, now: number): Answer {
    const places = ask.charges.map((charge) => {
      const table = this.#tableOf(charge)
      return { charge, table, slot: this.#slotOf(table, charge, now) }
    })
    // Making room for a later charge may have moved an earlier one out: look again before lending.
    for (const place of places) if (place.table.slotOf(place.charge.subject) !== place.slot) place.slot = this.#slotOf(place.table, place.charge, now)
    const states = places.map(({ table, slot }) => table.lend(slot, { n: nothing, at: 0, extra: undefined }))
    const answer = decide(ask, states, now)
    for (const [c, { charge, table, slot }] of places.entries()) this.#keep(ask, charge, table, slot, states[c]!, answer, c)
    return answer
  }

  #tableOf(charge: Charge): Table {
    const { prefix } = charge.rule
    const tables = this.#tables.get(prefix)
    if (tables === undefined) {
      const table = new Table(charge.limits)
      this.#tables.set(prefix, [table])
      return table
    }
    for (const table of tables) if (table.set === charge.limits || table.set.layout === charge.limits.layout) return table
    const table = new Table(charge.limits)
    tables.push(table)
    return table
  }

  #slotOf(table: Table, charge: Charge, now: number): number {
    const known = table.slotOf(charge.subject)
    if (known !== undefined) return known
    this.#size -= sweep(table, now, 2)
    if (this.#size >= this.#maxSubjects) {
      if (!makeRoom(table, this.#tables, now)) {
        throw new StoreError('full', `The memory store holds ${this.#size} subjects and all of those looked at are denied; raise maxSubjects.`)
      }
      this.#size -= 1
    }
    const slot = table.add(charge.subject)
    this.#size += 1
    const siblings = this.#tables.get(charge.rule.prefix)!
    if (siblings.length > 1) this.#size -= carryOver(siblings, table, slot, charge.subject)
    return slot
  }

  #keep(ask: Ask, charge: Charge, table: Table, slot: number, state: State, answer: Answer, c = 0): void {
    if (ask.kind === 'reset') {
      table.remove(slot)
      this.#size -= 1
      return
    }
    if (state.extra !== undefined) table.keepExtra(slot, state.extra)
    if (!answer.allowed && ask.kind === 'take') state.n[state.at + charge.limits.fields] = deniedUntilUs(answer, c)
  }
}

/** Until when a subject counts as denied. A cost that can never pass says nothing about the subject. */
function deniedUntilUs(answer: Answer, c: number): number {
  let waitMs = 0
  for (const { retryAfterMs } of answer.statuses[c]!) if (retryAfterMs !== Infinity) waitMs = Math.max(waitMs, retryAfterMs)
  return answer.nowUs + waitMs * 1000
}
