import type { State } from '../../core/algorithms/state.ts'
import type { Answer, Charge } from '../../core/engine/ask.ts'
import type { Table } from './table.ts'

/**
 * A charge and the state it is decided on: that of its row, or a copy that gets a row only if the decision writes.
 */
export interface Place {
  readonly charge: Charge
  readonly table: Table
  readonly state: State
  readonly row: number | undefined
  /** Where the subject stands until then, when its rule's limits have changed. */
  readonly elsewhere: Row | undefined
}

/** Where a subject is kept. */
export interface Row {
  readonly table: Table
  readonly row: number
}

/** Keeps a subject from making way for others while it is denied or has nothing left: it would start unused. */
export function keepFromMakingWay(table: Table, row: number, answer: Answer, c: number): void {
  let waitMs = 0
  for (const { remaining, resetMs, retryAfterMs } of answer.statuses[c]!) {
    // A cost that can never pass says nothing about the subject.
    const ms = answer.allowed ? (remaining === 0 ? resetMs : 0) : retryAfterMs === Infinity ? 0 : retryAfterMs
    if (ms > waitMs) waitMs = ms
  }
  if (waitMs > 0) table.deny(row, answer.nowUs + waitMs * 1000)
}

/** The same for a subject wherever it stands. */
export function keepPlace({ table, row, elsewhere }: Place, answer: Answer, c: number): void {
  if (row !== undefined) keepFromMakingWay(table, row, answer, c)
  else if (elsewhere !== undefined) keepFromMakingWay(elsewhere.table, elsewhere.row, answer, c)
}
