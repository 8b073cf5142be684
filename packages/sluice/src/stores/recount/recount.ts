import type { KeyPart } from '../../core/key.ts'

/** The period of a calendar limit that a source of truth is asked about. */
export interface RecountPeriod {
  /** The name of the limit. */
  readonly limit: string
  readonly start: Date
  /** The period ends before this instant. */
  readonly end: Date
  /** How many units the limit allows in the period. */
  readonly amount: number
  /** How many units are asked for. */
  readonly cost: number
  /** Aborts when no caller waits for the answer any more. */
  readonly signal: AbortSignal
}

/**
 * How many units of the period are in the source of truth. `key` is the key's parts: `([customer], { start, end }) =>
 * ...`.
 */
export type RecountCount = (key: readonly KeyPart[], period: RecountPeriod) => number | Promise<number>

/** A source of truth that decides by itself, atomically. */
export interface RecountTake {
  /**
   * Records `period.cost` units under `id` if the period has room for them, in one atomic step such as one SQL
   * statement, and says whether it did: `true` or `false`.
   */
  take(key: readonly KeyPart[], period: RecountPeriod, id: string): boolean | Promise<boolean>
  /**
   * Lets a store that came back empty be brought up to date. Without it, the source decides instead of the store until
   * the period ends.
   */
  readonly count?: RecountCount
  /** How many calls of the source may run at once; 16 by default. */
  readonly concurrency?: number
}

/**
 * Asks the source of truth while the store cannot decide: counts, which is exact in one process, or decides, which is
 * exact everywhere.
 */
export type Recount = RecountCount | RecountTake

/** By the names of rules with `onStoreFailure: recount`. */
export type Recounts = Readonly<Record<string, Recount>>
