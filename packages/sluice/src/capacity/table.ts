import type { CompiledCapacity, CompiledCapacityRow } from '../policy/capacity/compile-capacity.ts'

/**
 * A lighter row is used again only when the load is this far below the heavier one, so that it does not alternate at
 * the edge.
 */
const hysteresis = 5

/** The row for a load: the first whose bound is above it; undefined when the load is above all of them: not ready. */
export function rowFor({ rows }: CompiledCapacity, load: number): CompiledCapacityRow | undefined {
  return rows.find(({ below }) => load < below)
}

/** The row for a load, given the row that was in use: heavier at once, lighter only with a margin. */
export function nextRow(
  table: CompiledCapacity,
  load: number,
  before: CompiledCapacityRow | undefined | 'none',
): CompiledCapacityRow | undefined {
  const row = rowFor(table, load)
  if (before === 'none' || place(table, row) >= place(table, before)) return row
  // The load may have fallen into a lighter row; is it still there with the margin added?
  const held = rowFor(table, load + hysteresis)
  return place(table, held) < place(table, before) ? held : before
}

/** The index of a row: the heavier the load, the higher; not ready is the highest. */
function place({ rows }: CompiledCapacity, row: CompiledCapacityRow | undefined): number {
  const at = row === undefined ? -1 : rows.findIndex(({ below }) => below === row.below)
  return at < 0 ? rows.length : at
}
