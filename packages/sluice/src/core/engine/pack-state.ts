import { blankState, extraOf, type Hold, type KeptLimit, type Log, type State } from '../algorithms/state.ts'
import { forgetEnded } from './convert-state.ts'
import type { LimitSet } from './limit-set.ts'

/** One limit as it is stored: its tag, its fields, and the times and costs of its log if it has one. */
type PackedLimit = readonly [
  tag: number,
  fields: readonly number[],
  times?: readonly number[],
  costs?: readonly number[],
]

interface Packed {
  /** When it was written, in microseconds. */
  readonly at: number
  readonly limits: readonly PackedLimit[]
  readonly holds?: readonly Hold[]
}

/** A state and when it was written. */
export interface UnpackedState {
  readonly state: State
  readonly writtenUs: number
}

/**
 * A state as text, for stores that keep texts. Each limit is stored with its tag, so that another set finds its own
 * again.
 */
export function packState(set: LimitSet, state: State, nowUs: number): string {
  forgetEnded(state, nowUs)
  const limits = [...set.tags.keys()].flatMap((l) =>
    packLimit(set.tags[l]!, state, state.at + set.offsets[l]!, set.algorithms[l]!.fields, set.offsets[l]!),
  )
  for (const { tag, state: kept } of state.extra?.kept ?? []) limits.push(...packLimit(tag, kept, 0, kept.n.length, 0))
  const holds = state.extra?.holds ?? []
  const packed: Packed = { at: nowUs, limits, ...(holds.length > 0 && { holds }) }
  return JSON.stringify(packed)
}

/** Reads a text of `packState` for the same or for another set. Throws when it is none. */
export function unpackState(set: LimitSet, text: string): UnpackedState {
  const { at, limits, holds } = JSON.parse(text) as Packed
  if (!Number.isSafeInteger(at) || !Array.isArray(limits)) throw new TypeError('not a state of Sluice')
  const state = blankState(set.fields)
  for (const [tag, fields, times, costs] of limits) {
    if (!fields.every(Number.isFinite)) throw new TypeError('not a state of Sluice')
    const log: Log | undefined = times && costs && { times: [...times], costs: [...costs] }
    const l = set.tags.indexOf(tag)
    if (l < 0) extraOf(state).kept.push(keptLimit(tag, fields, log))
    else {
      state.n.set(fields, set.offsets[l])
      if (log) extraOf(state).logs.set(set.offsets[l]!, log)
    }
  }
  if (holds) extraOf(state).holds = holds.map((hold) => ({ ...hold }))
  return { state, writtenUs: at }
}

function packLimit(tag: number, state: State, at: number, count: number, offset: number): PackedLimit[] {
  if (count === 0) return []
  const fields = [...state.n.subarray(at, at + count)]
  const log = state.extra?.logs.get(offset)
  if (log === undefined || log.times.length === 0) return fields.some((field) => field !== 0) ? [[tag, fields]] : []
  return [[tag, fields, log.times, log.costs]]
}

function keptLimit(tag: number, fields: readonly number[], log: Log | undefined): KeptLimit {
  const state = blankState(fields.length)
  state.n.set(fields)
  if (log) extraOf(state).logs.set(0, log)
  return { tag, state }
}
