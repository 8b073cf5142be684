import { calendarPeriod } from '../../core/algorithms/calendar-period.ts'
import { algorithmNames } from '../../core/algorithms/index.ts'
import type { Limit } from '../../core/algorithms/limit.ts'
import { type Segment, segmentAt } from '../../core/algorithms/pace-curve.ts'
import { maxLogEntries } from '../../core/algorithms/sliding-log.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { constants } from './scripts.gen.ts'

/**
 * Most limits of a set that `lua/plain-takes.lua` knows: with four, the stored array is still one of the short kind.
 */
export const maxPlainLimits = 4

export interface EncodedLimitSet {
  /** JSON for `lua/decide.lua`. */
  readonly general: string
  /** Items of a JSON list for `lua/plain-takes.lua`. */
  readonly windows: string
  /** What `lua/lone-take.lua` needs to know of its first window. */
  readonly lone: readonly string[]
  /** Calendar periods change with time; everything else never changes. */
  readonly fromMs: number
  readonly untilMs: number
}

const encoded = new WeakMap<LimitSet, EncodedLimitSet>()

/** A limit set as scripts take it. `nowMs` is the server's time, as far as it is known. */
export function encodeLimitSet(set: LimitSet, nowMs: number): EncodedLimitSet {
  const known = encoded.get(set)
  if (known !== undefined && nowMs >= known.fromMs && nowMs < known.untilMs) return known
  let fromMs = -Infinity
  let untilMs = Infinity
  // Places in the stored array count from 1: the base, then the tag and the fields of each limit that has any.
  let last = 1
  const windows = [set.limits.length]
  const limits = set.limits.map((limit, l) => {
    const first = last + 2
    if (limit.algorithm !== 'concurrency') last += 1 + set.algorithms[l]!.fields
    const own = ownNumbers(limit, nowMs)
    if (limit.algorithm === 'pace') {
      fromMs = Math.max(fromMs, own[2]!)
      untilMs = Math.min(untilMs, own[3]!)
    }
    if (limit.algorithm === 'calendar') {
      fromMs = Math.max(fromMs, own[0]!)
      untilMs = Math.min(untilMs, own[1]!)
    }
    windows.push(set.tags[l]!, limit.amount, ...windowOf(limit, own))
    return [algorithmNames.indexOf(limit.algorithm), set.tags[l], first, limit.amount, limit.periodMs, ...own]
  })
  const short = set.paced ? pacedNumbers(set, nowMs) : windows
  const general = JSON.stringify(limits)
  const [tag, amount, lengthMs, startMs] = windows.slice(1).map(String)
  const period = set.limits[0]?.algorithm === 'calendar' ? [lengthMs!, startMs!, `[${general}]`] : []
  const made = { general, windows: short.join(), lone: [tag!, amount!, ...period], fromMs, untilMs }
  encoded.set(set, made)
  return made
}

/** Whether `lua/lone-take.lua` knows the set. */
export function isOneWindow({ windows, limits }: LimitSet): boolean {
  return windows && limits.length === 1
}

/** ARGV of `lua/decide.lua` after the deadline for takes of one subject with one window: as few as possible. */
export function encodeLoneTake(set: LimitSet, cost: number, copies: number, nowMs: number): readonly string[] {
  const { lone } = encodeLimitSet(set, nowMs)
  return cost === 1 && copies === 1 ? lone : [...lone, String(cost), String(copies)]
}

/** The length of a limit's windows and the start of one of them; -1 when they start at the first hit. */
function windowOf(limit: Limit, [startMs = 0, endMs = 0]: readonly number[]): [number, number] {
  if (limit.algorithm === 'calendar') return [endMs - startMs, startMs]
  return [limit.periodMs, limit.aligned ? 0 : -1]
}

/** A calendar limit and its pace, in short. */
function pacedNumbers({ limits, tags }: LimitSet, nowMs: number): number[] {
  const { amount, burst, pace } = limits[1]!
  const segment = segmentNumbers(segmentAt(limits[1]!, nowMs))
  return [constants.PACED, tags[0]!, limits[0]!.amount, tags[1]!, amount, burst, pace!.interval, ...segment]
}

function segmentNumbers({ startMs, endMs, from, to, period }: Segment): number[] {
  return [startMs, endMs, from, to, period.startMs, period.endMs]
}

function ownNumbers(limit: Limit, nowMs: number): number[] {
  switch (limit.algorithm) {
    case 'fixed-window':
      return [limit.aligned ? 1 : 0]
    case 'sliding-log':
      return [limit.amount <= maxLogEntries ? 1 : Math.ceil(limit.periodMs / maxLogEntries) * 1000]
    case 'gcra':
      return [limit.intervalUs, limit.burst]
    case 'calendar': {
      const { startMs, endMs } = calendarPeriod(limit.calendar!, limit.zone!, nowMs)
      return [startMs, endMs, calendarPeriod(limit.calendar!, limit.zone!, endMs).endMs]
    }
    case 'pace': {
      const segment = segmentAt(limit, nowMs)
      const { interval } = limit.pace!
      return [interval, limit.burst, ...segmentNumbers(segment), ...segmentNumbers(segmentAt(limit, segment.endMs))]
    }
    default:
      return []
  }
}
