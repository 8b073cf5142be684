import { calendarPeriod } from '../../core/algorithms/calendar-period.ts'
import { algorithmNames } from '../../core/algorithms/index.ts'
import type { Limit } from '../../core/algorithms/limit.ts'
import { type Segment, segmentAt } from '../../core/algorithms/pace-curve.ts'
import { maxLogEntries } from '../../core/algorithms/sliding-log.ts'
import { endOf, startAt } from '../../core/algorithms/window.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { constants } from './scripts.gen.ts'

export interface EncodedLimitSet {
  /** JSON for `lua/decide.lua`. */
  readonly general: string
  /** Items of the list for `lua/fast-takes.lua`; of use only for sets that it knows. */
  readonly fast: string
  /** The arguments of its usual call, when the set is one window that its tag describes. */
  readonly usual: readonly string[] | undefined
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
  // Indices in the stored array count from 1: the base, then the tag and the fields of each limit that has any.
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
    windows.push(set.tags[l]!, limit.amount, ...windowNumbers(limit, own))
    return [algorithmNames.indexOf(limit.algorithm), set.tags[l]!, first, limit.amount, limit.periodMs, ...own]
  })
  const fast = set.paced ? pacedNumbers(limits[0]!, limits[1]!) : windows
  const isUsual = set.limits.length === 1 && set.limits[0]!.algorithm === 'fixed-window'
  const usual = isUsual ? [String(set.tags[0]), String(set.limits[0]!.amount)] : undefined
  const made = { general: JSON.stringify(limits), fast: fast.join(), usual, fromMs, untilMs }
  encoded.set(set, made)
  return made
}

/**
 * The length of a limit's windows, the start of one of them (-1 when they start at the first hit), and the length of
 * the next calendar period.
 */
function windowNumbers(limit: Limit, [startMs = 0, endMs = 0, nextEndMs = 0]: readonly number[]): number[] {
  if (limit.algorithm === 'calendar') return [endMs - startMs, startMs, nextEndMs - endMs]
  return [limit.periodMs, limit.aligned ? 0 : -1, 0]
}

/** A calendar limit and its pace for `lua/fast-takes.lua`, of the numbers for `lua/decide.lua`. */
function pacedNumbers(calendar: readonly number[], pace: readonly number[]): readonly number[] {
  const [, tag, , total] = calendar
  const [, paceTag, , amount, , interval, burst, ...segments] = pace
  return [constants.PACED, tag!, total!, paceTag!, amount!, burst!, interval!, ...segments, calendar.at(-1)!]
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
    case 'share': {
      const startMs = startAt(limit, nowMs)
      const endMs = endOf(limit, startMs)
      const nextEndMs = endOf(limit, endMs)
      return [limit.share!.guaranteed, nextEndMs - startMs, endOf(limit, nextEndMs) - endMs]
    }
    default:
      return []
  }
}
