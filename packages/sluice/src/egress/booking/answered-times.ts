import type { BookedLimit } from './messages.ts'
import type { UpstreamState } from './state.ts'

/** Calls that are answered within this part of a period are remembered as one entry. */
const partsOfPeriod = 16
const mostEntries = 32

/** Remembers when units were answered: they come back a period later, and no sooner. */
export function noteAnswered(state: UpstreamState, limit: BookedLimit, units: number, nowMs: number): void {
  if (units <= 0) return
  const entries = entriesOf(state, limit.key)
  const last = entries.at(-1)
  if (last !== undefined && nowMs - last[0] < limit.periodMs / partsOfPeriod) last[1] += units
  else entries.push([nowMs, units])
  if (entries.length <= mostEntries) return
  const [oldest] = entries.splice(0, 1)
  entries[0] = [oldest![0], oldest![1] + entries[0]![1]]
}

/** Adds units for which it is not known when they were answered: they may come back at any time. */
export function noteUndated(state: UpstreamState, key: string, units: number): void {
  const entries = entriesOf(state, key)
  if (entries[0]?.[0] === 0) entries[0][1] += units
  else entries.unshift([0, units])
}

/** Removes units that came back, which are the oldest, or that turned out not to be taken. */
export function forgetAnswered(state: UpstreamState, key: string, units: number, from: 'oldest' | 'newest'): void {
  const entries = state.answered.get(key)
  let left = units
  while (entries !== undefined && left > 0 && entries.length > 0) {
    const entry = from === 'oldest' ? entries[0]! : entries.at(-1)!
    const taken = Math.min(left, entry[1])
    left -= taken
    entry[1] -= taken
    if (entry[1] > 0) continue
    if (from === 'oldest') entries.shift()
    else entries.pop()
  }
  if (entries?.length === 0) state.answered.delete(key)
}

/**
 * How long until this many of the units taken now are free again: `least` if calls in flight return their places
 * unused, `likely` if all of them are answered now. A place that is given now is occupied for a period too.
 */
export function backInMs(
  state: UpstreamState,
  { key, periodMs }: BookedLimit,
  units: number,
  nowMs: number,
): { readonly least: number; readonly likely: number } {
  const used = state.used.get(key) ?? 0
  if (units > used) return { least: periodMs, likely: periodMs }
  const entries = state.answered.get(key) ?? []
  const inFlight = Math.max(0, used - entries.reduce((sum, [, each]) => sum + each, 0))
  const after = (lacking: number): number => {
    let left = lacking
    if (left <= 0) return 0
    for (const [atMs, each] of entries) {
      left -= each
      if (left <= 0) return Math.max(0, atMs + periodMs - nowMs)
    }
    return periodMs
  }
  return { least: after(units - inFlight), likely: after(units) }
}

function entriesOf(state: UpstreamState, key: string): [atMs: number, units: number][] {
  let entries = state.answered.get(key)
  if (entries === undefined) {
    entries = []
    state.answered.set(key, entries)
  }
  return entries
}
