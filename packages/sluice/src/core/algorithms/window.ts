import type { Algorithm } from './algorithm.ts'
import { calendarPeriod } from './calendar-period.ts'
import type { Limit } from './limit.ts'

/**
 * `fixed-window` and `calendar`: counts units per window. A window starts at the first hit, at multiples of the period
 * (`aligned`), or with a day, week or month of a calendar, in UTC or a zone. A window whose units were all given
 * back is forgotten.
 *
 * Bound: at most `amount` in each window, hence at most twice `amount` in any stretch as long as the period.
 * State: the window's start (ms) and its count.
 */
export const window: Algorithm = {
  fields: 2,

  room(state, i, limit, now) {
    return Math.max(0, limit.amount - countAt(limit, state.n[i]!, state.n[i + 1]!, msOf(now)))
  },

  spend(state, i, limit, units, now) {
    const nowMs = msOf(now)
    if (isCurrent(limit, state.n[i]!, nowMs)) {
      state.n[i + 1]! += units
    } else {
      state.n[i] = startAt(limit, nowMs)
      state.n[i + 1] = units
    }
  },

  giveBack(state, i, limit, units, takenUs, now) {
    if (isCurrent(limit, state.n[i]!, msOf(now)) && state.n[i]! <= msOf(takenUs)) {
      state.n[i + 1] = Math.max(0, state.n[i + 1]! - units)
      // A pace that is kept aside counts as a window, and its bucket does not fill by what comes back.
      if (state.n[i + 1] === 0 && limit.pace === undefined) state.n[i] = 0
    }
  },

  raise(state, i, limit, units, now) {
    if (limit.calendar === undefined || units === 0) return
    const startMs = startAt(limit, msOf(now))
    state.n[i + 1] = state.n[i] === startMs ? Math.max(units, state.n[i + 1]!) : units
    state.n[i] = startMs
  },

  endUs(state, i, limit, now) {
    // A window that has begun matters also with a count of 0: a pace that is kept aside may have a bucket to fill.
    return state.n[i]! > 0 && isCurrent(limit, state.n[i]!, msOf(now)) ? endOf(limit, state.n[i]!) * 1000 : now
  },

  waitUs(state, i, limit, _cost, now) {
    return endOf(limit, state.n[i]!) * 1000 - now
  },
}

/** Windows begin and end with whole milliseconds, so nothing finer needs to be looked at. */
export function msOf(us: number): number {
  return Math.floor(us / 1000)
}

/** What counts against the limit now, of a window that began at `startMs` and has such a count. */
export function countAt(limit: Limit, startMs: number, count: number, nowMs: number): number {
  return isCurrent(limit, startMs, nowMs) ? count : 0
}

/** Whether the window that began at `startMs` is still in progress. */
export function isCurrent(limit: Limit, startMs: number, nowMs: number): boolean {
  if (limit.aligned || limit.calendar !== undefined) return startMs === startAt(limit, nowMs)
  return nowMs < startMs + limit.periodMs
}

/** When a window begins that is needed now. */
export function startAt(limit: Limit, nowMs: number): number {
  if (limit.calendar !== undefined) return calendarPeriod(limit.calendar, limit.zone!, nowMs).startMs
  return limit.aligned ? Math.floor(nowMs / limit.periodMs) * limit.periodMs : nowMs
}

/** When the window ends that began at `startMs`. */
export function endOf(limit: Limit, startMs: number): number {
  if (limit.calendar !== undefined) return calendarPeriod(limit.calendar, limit.zone!, startMs).endMs
  return startMs + limit.periodMs
}
