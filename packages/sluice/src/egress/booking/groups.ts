import { addUnits } from './add-units.ts'

/** Units of answered calls, by process, limit and tick. The process frees each of them a period later. */
export type Groups = Map<string, Map<string, Map<string, number>>>

/** Units in a group; undefined when there is no such group. */
export function unitsIn(groups: Groups, owner: string, limit: string, tick: string): number | undefined {
  return groups.get(owner)?.get(limit)?.get(tick)
}

/** Changes a group; one without units is removed. */
export function addToGroup(groups: Groups, owner: string, limit: string, tick: string, units: number): void {
  let limits = groups.get(owner)
  if (limits === undefined) {
    limits = new Map()
    groups.set(owner, limits)
  }
  let ticks = limits.get(limit)
  if (ticks === undefined) {
    ticks = new Map()
    limits.set(limit, ticks)
  }
  addUnits(ticks, tick, units)
  if (ticks.size > 0) return
  limits.delete(limit)
  if (limits.size === 0) groups.delete(owner)
}

/** All groups of a process. */
export function* groupsOf(
  groups: Groups,
  owner: string,
): Iterable<{ readonly limit: string; readonly tick: string; readonly units: number }> {
  for (const [limit, ticks] of groups.get(owner) ?? []) for (const [tick, units] of ticks) yield { limit, tick, units }
}
