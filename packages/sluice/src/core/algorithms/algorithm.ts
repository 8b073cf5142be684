import type { Limit } from './limit.ts'
import type { State } from './state.ts'

/** What was planned until now, and what was spent in the period. */
export interface PaceStatus {
  readonly planned: number
  readonly spent: number
  /** How far ahead of the plan spending may be. */
  readonly burst: number
}

/** What a class is guaranteed of a limit that classes share, in each window, and what it spent in the present one. */
export interface ShareStatus {
  readonly class: string
  readonly guaranteed: number
  readonly spent: number
}

/**
 * How one kind of limit counts. Every function is pure but for the numbers it is handed: it reads and writes only the
 * fields of its limit (`i` is the index of the first one in `state.n`), and time arrives as an argument, in
 * microseconds.
 *
 * `lua/limits.lua` holds the twin of `room`, `spend`, `deny`, `giveBack` and `endUs`; the conformance suite holds the
 * two equal.
 */
export interface Algorithm {
  /** How many numbers of state one limit needs. */
  readonly fields: number
  /** Units that could be spent at `now`. */
  room(state: State, i: number, limit: Limit, now: number): number
  /** Spends, also beyond the room: the caller has checked first, or settles a debt. */
  spend(state: State, i: number, limit: Limit, units: number, now: number): void
  /** Notes that a cost was denied. Only shares need to know. */
  deny?(state: State, i: number, limit: Limit, cost: number, now: number): void
  /**
   * Returns units that were spent at `takenUs`, as far as they still count. Never makes room that was not used up by
   * them.
   */
  giveBack(state: State, i: number, limit: Limit, units: number, takenUs: number, now: number): void
  /**
   * Lets at least so much be spent in the present period. Only calendar limits have periods that others can count too.
   */
  raise?(state: State, i: number, limit: Limit, units: number, now: number): void
  /** `pace`: where on its curve the limit stands. */
  pace?(state: State, i: number, limit: Limit, now: number): PaceStatus
  /** `share`: what its class has. */
  share?(state: State, i: number, limit: Limit, now: number): ShareStatus
  /** When the limit would be fully available again, if nothing more were spent. */
  resetUs?(state: State, i: number, limit: Limit, now: number): number
  /** When its state stops mattering; the same, unless it has `resetUs`. */
  endUs(state: State, i: number, limit: Limit, now: number): number
  /** How long until `cost` would pass, given that it does not now and is not above the burst. */
  waitUs(state: State, i: number, limit: Limit, cost: number, now: number): number
}
