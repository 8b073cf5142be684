import type { State } from '../../core/algorithms/state.ts'
import type { Answer, Charge } from '../../core/engine/ask.ts'
import type { Table } from './table.ts'

/**
 * A charge and the state it is decided on: that of its slot, or a copy that gets a slot only if the decision writes.
 */
export interface Place {
  readonly charge: Charge
  readonly table: Table
  readonly state: State
  readonly slot: number | undefined
  /** Where the subject stands until then, when its rule's limits have changed. */
  readonly elsewhere: Slot | undefined
}

/** Where a subject is kept. */
export interface Slot {
  readonly table: Table
  readonly slot: number
}

/** Keeps a subject from making way for others while it is denied or has nothing left: it would start unused. */
export function keepFromMakingWay(table: Table, slot: number, answer: Answer, c: number): void {
  let waitMs = 0
  for (const { remaining, resetMs, retryAfterMs } of answer.statuses[c]!) {
    // A cost that can never pass says nothing about the subject.
    const ms = answer.allowed ? (remaining === 0 ? resetMs : 0) : retryAfterMs === Infinity ? 0 : retryAfterMs
    if (ms > waitMs) waitMs = ms
  }
  if (waitMs > 0) table.deny(slot, answer.nowUs + waitMs * 1000)
}

/** The same for a subject wherever it stands. */
export function keepPlace({ table, slot, elsewhere }: Place, answer: Answer, c: number): void {
  if (slot !== undefined) keepFromMakingWay(table, slot, answer, c)
  else if (elsewhere !== undefined) keepFromMakingWay(elsewhere.table, elsewhere.slot, answer, c)
}
