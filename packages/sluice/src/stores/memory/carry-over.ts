import { extraOf, type State } from '../../core/engine/state.ts'
import type { Table } from './table.ts'

/** Where a subject is kept. */
export interface Slot {
  readonly table: Table
  readonly slot: number
}

/** Where a subject stands among the tables of its rule's other layouts, if anywhere: it has at most one slot in all of them. */
export function slotElsewhere(tables: readonly Table[], to: Table, subject: string): Slot | undefined {
  for (const table of tables) {
    const slot = table === to ? undefined : table.slotOf(subject)
    if (slot !== undefined) return { table, slot }
  }
  return undefined
}

/** Copies a subject's usage from another layout into a blank state, limit by limit. */
export function carryOver({ table, slot }: Slot, to: Table, target: State): void {
  const source = table.lend(slot, { n: target.n, at: 0, extra: undefined })
  for (const [l, tag] of to.set.tags.entries()) {
    const f = table.set.tags.indexOf(tag)
    // A limit without fields has no place of its own: at its offset stands the next one.
    if (f < 0 || to.set.algorithms[l]!.fields === 0) continue
    const start = source.at + table.set.offsets[f]!
    target.n.set(source.n.subarray(start, start + to.set.algorithms[l]!.fields), target.at + to.set.offsets[l]!)
    const log = source.extra?.logs.get(table.set.offsets[f]!)
    if (log) extraOf(target).logs.set(to.set.offsets[l]!, { times: [...log.times], costs: [...log.costs] })
  }
  if (source.extra && source.extra.holds.length > 0)
    extraOf(target).holds = source.extra.holds.map((hold) => ({ ...hold }))
}
