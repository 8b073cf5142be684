import { calendarPeriod, type Period } from '../calendar-period.ts'
import type { Limit } from '../limit.ts'
import type { Algorithm } from './algorithm.ts'

/**
 * Counts units per day, week or month of a calendar, in UTC or a zone.
 *
 * Bound: at most `amount` in each calendar period.
 * State: the period's start (ms) and its count.
 */
export const calendar: Algorithm = {
  fields: 2,

  room(state, i, limit, now) {
    return state.n[i] === periodOf(limit, now).startMs ? Math.max(0, limit.amount - state.n[i + 1]!) : limit.amount
  },

  spend(state, i, limit, units, now) {
    const { startMs } = periodOf(limit, now)
    state.n[i + 1] = state.n[i] === startMs ? state.n[i + 1]! + units : units
    state.n[i] = startMs
  },

  giveBack(state, i, limit, units, takenUs, now) {
    const { startMs } = periodOf(limit, now)
    if (state.n[i] === startMs && startMs <= takenUs / 1000) state.n[i + 1] = Math.max(0, state.n[i + 1]! - units)
  },

  endUs(state, i, limit, now) {
    const { startMs, endMs } = periodOf(limit, now)
    return state.n[i] === startMs && state.n[i + 1]! > 0 ? endMs * 1000 : now
  },

  waitUs(_state, _i, limit, _cost, now) {
    return periodOf(limit, now).endMs * 1000 - now
  },
}

/** The period of a calendar limit at an instant. */
export function periodOf(limit: Limit, now: number): Period {
  return calendarPeriod(limit.calendar!, limit.zone!, now / 1000)
}
