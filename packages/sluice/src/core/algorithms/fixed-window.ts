import type { Limit } from '../limit.ts'
import type { State } from '../state.ts'
import type { Algorithm } from './algorithm.ts'

/**
 * Counts units per window. A window starts at the first hit, or at multiples of the period (`aligned`); one from which everything was
 * given back never was.
 *
 * Bound: at most `amount` in each window, hence at most twice `amount` in any stretch as long as the period.
 * State: the window's start (ms) and its count.
 */
export const fixedWindow: Algorithm = {
  fields: 2,

  room(state, i, limit, now) {
    return isCurrent(state, i, limit, now) ? Math.max(0, limit.amount - state.n[i + 1]!) : limit.amount
  },

  spend(state, i, limit, units, now) {
    if (isCurrent(state, i, limit, now)) {
      state.n[i + 1]! += units
    } else {
      state.n[i] = limit.aligned ? alignedStart(limit, now) : Math.floor(now / 1000)
      state.n[i + 1] = units
    }
  },

  giveBack(state, i, limit, units, takenUs, now) {
    if (isCurrent(state, i, limit, now) && state.n[i]! <= Math.floor(takenUs / 1000)) {
      state.n[i + 1] = Math.max(0, state.n[i + 1]! - units)
      if (state.n[i + 1] === 0) state.n[i] = 0
    }
  },

  endUs(state, i, limit, now) {
    return isCurrent(state, i, limit, now) && state.n[i + 1]! > 0 ? (state.n[i]! + limit.periodMs) * 1000 : now
  },

  waitUs(state, i, limit, _cost, now) {
    return (state.n[i]! + limit.periodMs) * 1000 - now
  },
}

function alignedStart(limit: Limit, now: number): number {
  return Math.floor(now / 1000 / limit.periodMs) * limit.periodMs
}

function isCurrent(state: State, i: number, limit: Limit, now: number): boolean {
  return limit.aligned ? state.n[i] === alignedStart(limit, now) : now < (state.n[i]! + limit.periodMs) * 1000
}
