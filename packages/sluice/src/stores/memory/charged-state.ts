import type { State } from '../../core/algorithms/state.ts'
import type { Answer, Charge } from '../../core/engine/ask.ts'
import type { Table } from './table.ts'

/**
 * A charge and the state it is decided on: that of its row, or a copy that gets a row only if the decision writes.
 */
export interface ChargedState {
  readonly charge: Charge
  readonly table: Table
  readonly state: State
  readonly row: number | undefined
  /** The row that the subject has until then, when its rule's limits have changed. */
  readonly elsewhere: Row | undefined
}

/** Where a subject is kept. */
export interface Row {
  readonly table: Table
  readonly row: number
}

/** Keeps a subject from eviction while it is denied or has nothing left: it would start unused. */
export function keepFromEviction(table: Table, row: number, answer: Answer, c: number): void {
  let waitMs = 0
  for (const { remaining, resetMs, retryAfterMs } of answer.statuses[c]!) {
    // A cost that can never pass says nothing about the subject.
    const ms = retryAfterMs === Infinity ? 0 : answer.allowed && remaining === 0 ? resetMs : retryAfterMs
    if (ms > waitMs) waitMs = ms
  }
  if (waitMs > 0) table.deny(row, answer.nowUs + waitMs * 1000)
}

/** The same for a subject in whatever row it has. */
export function keepSubject({ table, row, elsewhere }: ChargedState, answer: Answer, c: number): void {
  if (row !== undefined) keepFromEviction(table, row, answer, c)
  else if (elsewhere !== undefined) keepFromEviction(elsewhere.table, elsewhere.row, answer, c)
}
