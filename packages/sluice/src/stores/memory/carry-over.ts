import type { State } from '../../core/state.ts'
import { extraOf } from '../../core/state.ts'
import type { Table } from './table.ts'

/** Moves a subject's usage from the tables of its rule's other layouts into a new slot, limit by limit; returns how many it left. */
export function carryOver(tables: readonly Table[], to: Table, slot: number, subject: string): number {
  let left = 0
  for (const from of tables) {
    if (from === to) continue
    const old = from.slotOf(subject)
    if (old === undefined) continue
    copyLimits(from, from.lend(old, blank()), to, to.lend(slot, blank()), slot)
    from.remove(old)
    left++
  }
  return left
}

function copyLimits(from: Table, source: State, to: Table, target: State, slot: number): void {
  for (const [l, identity] of to.set.identities.entries()) {
    const f = from.set.identities.indexOf(identity)
    if (f < 0) continue
    const { fields } = to.set.algorithms[l]!
    const start = source.at + from.set.offsets[f]!
    target.n.set(source.n.subarray(start, start + fields), target.at + to.set.offsets[l]!)
    const log = source.extra?.logs.get(from.set.offsets[f]!)
    if (log) extraOf(target).logs.set(to.set.offsets[l]!, log)
  }
  if (source.extra && source.extra.holds.length > 0) extraOf(target).holds.push(...source.extra.holds)
  if (target.extra) to.keepExtra(slot, target.extra)
}

function blank(): State {
  return { n: new Float64Array(0), at: 0, extra: undefined }
}
