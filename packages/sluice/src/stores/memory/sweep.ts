import type { State } from '../../core/algorithms/state.ts'
import { setEndUs } from '../../core/engine/engine.ts'
import type { Table } from './table.ts'

/** How many rows a search for room looks at before it gives up for now; the next one goes on where it stopped. */
const reach = 1024
/** How many subjects are compared before the one soonest forgotten makes way. */
const sample = 8

const state: State = { n: new Float64Array(0), at: 0, extra: undefined }

/** Forgets expired subjects among the next `steps` rows and returns how many. */
export function sweep(table: Table, now: number, steps: number, stay: ReadonlySet<string>): number {
  let forgotten = 0
  for (let step = 0; step < steps && table.rows > 0; step++) {
    const row = next(table)
    const subject = table.subjectAt(row)
    if (subject !== undefined && !stay.has(subject) && endUs(table, row, now) <= now) {
      table.remove(row)
      forgotten++
    }
  }
  return forgotten
}

/** Forgets one subject that is neither denied nor among those to stay, in this table or else in another. */
export function makeRoom(
  table: Table,
  tables: ReadonlyMap<string, readonly Table[]>,
  now: number,
  stay: ReadonlySet<string>,
): boolean {
  if (evictFrom(table, now, stay)) return true
  for (const others of tables.values())
    for (const other of others) if (other !== table && evictFrom(other, now, stay)) return true
  return false
}

function evictFrom(table: Table, now: number, stay: ReadonlySet<string>): boolean {
  let best = -1
  let bestEnd = Infinity
  let seen = 0
  for (let step = 0; step < Math.min(reach, table.rows) && seen < sample; step++) {
    const row = next(table)
    const subject = table.subjectAt(row)
    if (subject === undefined || stay.has(subject)) continue
    const end = endUs(table, row, now)
    if (end > now && table.deniedUntilUs(row) > now) continue
    seen++
    if (end < bestEnd) {
      best = row
      bestEnd = end
    }
  }
  if (best >= 0) table.remove(best)
  return best >= 0
}

function next(table: Table): number {
  const row = table.hand < table.rows ? table.hand : 0
  table.hand = row + 1
  return row
}

function endUs(table: Table, row: number, now: number): number {
  return setEndUs(table.set, table.lend(row, state), now)
}
