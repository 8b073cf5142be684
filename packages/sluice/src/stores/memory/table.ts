import type { Extra, State } from '../../core/algorithms/state.ts'
import type { Charge } from '../../core/engine/ask.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { isPlainKey } from '../../core/key.ts'
import { LargeMap } from '../../core/large-map.ts'

/** The first chunk has 256 rows. */
const firstBits = 8

/** Each chunk has twice the rows of the one before, so that growing never copies and a million rows have few chunks. */
function chunkOf(row: number): number {
  return 31 - Math.clz32((row >> firstBits) + 1)
}

function rowsOf(chunk: number): number {
  return 1 << (chunk + firstBits)
}

function firstRowOf(chunk: number): number {
  return rowsOf(chunk) - rowsOf(0)
}

/**
 * The subjects of one rule with one layout of limits, packed into chunks of numbers:
 *
 *     index: subject -> row          chunk: [ fields of row 0 ][ fields of row 1 ] ...
 *
 * A million subjects cost one map entry and a few numbers each, no objects, and growing never copies.
 */
export class Table {
  /** Twice the row, plus one where the subject is a plain key (see `isPlainKey`). */
  #index = new LargeMap<number>()
  #chunks: Float64Array[] = []
  /** Until when each row counts as denied or has nothing left (us); a chunk in which none ever was has none. */
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

  /** How many rows have ever been in use: what a sweep has to walk. */
  get rows(): number {
    return this.#subjects.length
  }

  /** The row of a charge's subject, found by the text of its key if that is what it is stored by. */
  rowOf(charge: Charge): number | undefined {
    const { text } = charge
    if (text !== undefined) {
      const found = this.#index.get(text)
      if (found !== undefined && (found & 1) === 1) return found >> 1
    }
    const found = this.#index.get(charge.subject)
    return found === undefined ? undefined : found >> 1
  }

  subjectAt(row: number): string | undefined {
    return this.#subjects[row]
  }

  add(subject: string): number {
    const row = this.#free.pop() ?? this.#subjects.length
    const chunk = chunkOf(row)
    if (chunk === this.#chunks.length) {
      this.#chunks.push(new Float64Array(rowsOf(chunk) * this.set.fields))
      this.#denied.push(undefined)
    }
    this.#index.set(subject, 2 * row + (isPlainKey(subject) ? 1 : 0))
    this.#subjects[row] = subject
    return row
  }

  remove(row: number): void {
    const subject = this.#subjects[row]
    if (subject === undefined) return
    this.#index.delete(subject)
    this.#subjects[row] = undefined
    this.#extras.delete(row)
    const { fields } = this.set
    const chunk = chunkOf(row)
    const at = (row - firstRowOf(chunk)) * fields
    this.#chunks[chunk]!.fill(0, at, at + fields)
    if (this.deniedUntilUs(row) > 0) this.deny(row, 0)
    this.#free.push(row)
  }

  /** Lets go of the memory of a table in which no subject is left. */
  shrink(): void {
    if (this.#index.size > 0 || this.#subjects.length === 0) return
    this.#index = new LargeMap()
    this.#chunks = []
    this.#denied = []
    this.#subjects = []
    this.#free = []
    this.hand = 0
  }

  /** Remembers until when a subject is denied or has nothing left, so that it does not make way for another before. */
  deny(row: number, untilUs: number): void {
    const chunk = chunkOf(row)
    this.#denied[chunk] ??= new Float64Array(rowsOf(chunk))
    this.#denied[chunk][row - firstRowOf(chunk)] = untilUs
  }

  deniedUntilUs(row: number): number {
    const chunk = chunkOf(row)
    return this.#denied[chunk]?.[row - firstRowOf(chunk)] ?? 0
  }

  /** Points a state at a row. */
  lend(row: number, state: State): State {
    const chunk = chunkOf(row)
    state.n = this.#chunks[chunk]!
    state.at = (row - firstRowOf(chunk)) * this.set.fields
    state.extra = this.#extras.size === 0 ? undefined : this.#extras.get(row)
    return state
  }

  /** Takes back what a state may have gained or lost besides numbers. */
  keepExtra(row: number, extra: Extra | undefined): void {
    const isEmpty =
      extra === undefined || (extra.holds.length === 0 && extra.logs.size === 0 && extra.kept.length === 0)
    if (isEmpty) this.#extras.delete(row)
    else this.#extras.set(row, extra)
  }
}
