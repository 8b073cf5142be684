import type { Extra, State } from '../../core/algorithms/state.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { isPlainKey } from '../../core/key.ts'

const chunkBits = 10
const chunkSlots = 1 << chunkBits

/**
 * The subjects of one rule with one layout of limits, packed into chunks of numbers:
 *
 *     index: subject -> slot          chunk: [ fields of slot 0 ][ fields of slot 1 ] ...
 *
 * A million subjects cost one map entry and a few numbers each, no objects, and growing never copies.
 */
export class Table {
  /** Twice the slot, plus one where the subject is a plain key (see `isPlainKey`). */
  #index = new Map<string, number>()
  #chunks: Float64Array[] = []
  /** Until when each slot counts as denied or has nothing left (us); a chunk in which none ever was has none. */
  #denied: (Float64Array | undefined)[] = []
  #subjects: (string | undefined)[] = []
  #free: number[] = []
  readonly #extras = new Map<number, Extra>()
  readonly set: LimitSet
  hand = 0

  constructor(set: LimitSet) {
    this.set = set
  }

  get size(): number {
    return this.#index.size
  }

  /** How many slots have ever been in use: what a sweep has to walk. */
  get slots(): number {
    return this.#subjects.length
  }

  slotOf(subject: string): number | undefined {
    const found = this.#index.get(subject)
    return found === undefined ? undefined : found >> 1
  }

  /** The slot of a subject by the text it was asked for by. */
  slotOfText(text: string): number | undefined {
    const found = this.#index.get(text)
    return found === undefined || (found & 1) === 0 ? undefined : found >> 1
  }

  subjectAt(slot: number): string | undefined {
    return this.#subjects[slot]
  }

  add(subject: string): number {
    const slot = this.#free.pop() ?? this.#subjects.length
    if (slot >> chunkBits === this.#chunks.length) {
      this.#chunks.push(new Float64Array(chunkSlots * this.set.fields))
      this.#denied.push(undefined)
    }
    this.#index.set(subject, 2 * slot + (isPlainKey(subject) ? 1 : 0))
    this.#subjects[slot] = subject
    return slot
  }

  remove(slot: number): void {
    const subject = this.#subjects[slot]
    if (subject === undefined) return
    this.#index.delete(subject)
    this.#subjects[slot] = undefined
    this.#extras.delete(slot)
    const { fields } = this.set
    const at = (slot & (chunkSlots - 1)) * fields
    this.#chunks[slot >> chunkBits]!.fill(0, at, at + fields)
    if (this.deniedUntilUs(slot) > 0) this.deny(slot, 0)
    this.#free.push(slot)
  }

  /** Lets go of the memory of a table in which no subject is left. */
  shrink(): void {
    if (this.#index.size > 0 || this.#subjects.length === 0) return
    this.#index = new Map()
    this.#chunks = []
    this.#denied = []
    this.#subjects = []
    this.#free = []
    this.hand = 0
  }

  /** Remembers until when a subject is denied or has nothing left, so that it does not make way for another before. */
  deny(slot: number, untilUs: number): void {
    const chunk = slot >> chunkBits
    this.#denied[chunk] ??= new Float64Array(chunkSlots)
    this.#denied[chunk][slot & (chunkSlots - 1)] = untilUs
  }

  deniedUntilUs(slot: number): number {
    return this.#denied[slot >> chunkBits]?.[slot & (chunkSlots - 1)] ?? 0
  }

  /** Points a state at a slot. */
  lend(slot: number, state: State): State {
    state.n = this.#chunks[slot >> chunkBits]!
    state.at = (slot & (chunkSlots - 1)) * this.set.fields
    state.extra = this.#extras.size === 0 ? undefined : this.#extras.get(slot)
    return state
  }

  /** Takes back what a state may have gained or lost besides numbers. */
  keepExtra(slot: number, extra: Extra | undefined): void {
    const isEmpty =
      extra === undefined || (extra.holds.length === 0 && extra.logs.size === 0 && extra.kept.length === 0)
    if (isEmpty) this.#extras.delete(slot)
    else this.#extras.set(slot, extra)
  }
}
