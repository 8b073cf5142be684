import { keptAlgorithms } from '../algorithms/index.ts'
import { blankState, extraOf, type KeptLimit, type State } from '../algorithms/state.ts'
import type { LimitSet } from './limit-set.ts'
import { limitOfTag } from './tag.ts'

/**
 * Most limits that a subject keeps for sets other than that of its last writer. Beyond it, those that end first are
 * forgotten: what is lost is what would soon not have counted any more.
 */
export const maxKeptLimits = 32

/**
 * A copy of a subject's state in the layout of another set. Limits that both sets have carry over. What the new set
 * does not have is kept aside until its own end: tiers and policy versions that take turns on a subject must not erase
 * each other's usage.
 */
export function convertState(state: State, from: LimitSet, to: LimitSet): State {
  const made = blankState(to.fields)
  for (let l = 0; l < from.tags.length; l++)
    moveLimit(state, from.offsets[l]!, from.tags[l]!, from.algorithms[l]!.fields, made, to)
  if (state.extra !== undefined) {
    for (const { tag, state: kept } of state.extra.kept) moveLimit(kept, 0, tag, kept.n.length, made, to)
    if (state.extra.holds.length > 0) extraOf(made).holds = state.extra.holds.map((hold) => ({ ...hold }))
  }
  return made
}

/** When a kept limit stops mattering. */
export function keptEndUs({ tag, state }: KeptLimit, now: number): number {
  const limit = limitOfTag(tag)
  return keptAlgorithms[limit.algorithm].endUs(state, 0, limit, now)
}

/** Forgets the kept limits that have ended, and those beyond the bound. */
export function forgetEnded(state: State, now: number): void {
  const { extra } = state
  if (extra === undefined || extra.kept.length === 0) return
  const live = extra.kept.map((kept) => ({ kept, end: keptEndUs(kept, now) })).filter(({ end }) => end > now)
  if (live.length > maxKeptLimits) live.sort((a, b) => b.end - a.end || a.kept.tag - b.kept.tag)
  extra.kept = live.slice(0, maxKeptLimits).map(({ kept }) => kept)
}

function moveLimit(source: State, offset: number, tag: number, fields: number, made: State, to: LimitSet): void {
  // A limit without fields has no fields of its own: at its offset begins the next one.
  if (fields === 0) return
  const l = to.tags.indexOf(tag)
  if (l >= 0) copyLimit(source, offset, made, to.offsets[l]!, fields)
  else if (isUsed(source, offset, fields)) {
    const kept = blankState(fields)
    copyLimit(source, offset, kept, 0, fields)
    extraOf(made).kept.push({ tag, state: kept })
  }
}

function copyLimit(source: State, offset: number, made: State, to: number, fields: number): void {
  for (let i = 0; i < fields; i++) made.n[to + i] = source.n[source.at + offset + i]!
  const log = source.extra?.logs.get(offset)
  if (log) extraOf(made).logs.set(to, { times: [...log.times], costs: [...log.costs] })
}

function isUsed(source: State, offset: number, fields: number): boolean {
  for (let i = 0; i < fields; i++) if (source.n[source.at + offset + i] !== 0) return true
  return (source.extra?.logs.get(offset)?.times.length ?? 0) > 0
}
