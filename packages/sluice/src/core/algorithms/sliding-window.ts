import type { Algorithm } from './algorithm.ts'
import type { Limit } from './limit.ts'
import type { State } from './state.ts'

/**
 * Two counts: this clock-aligned window, and the one before weighted by how much of it the rolling window still covers.
 *
 * Bound: at most `amount` in each clock-aligned window, and less than twice `amount` in any stretch as long as the
 * period. The second is reached only by load that comes in one burst at the very end of a window; under steady load the
 * excess is a few per cent. State: the window's start (ms), its count, the count of the window before.
 */
export const slidingWindow: Algorithm = {
  fields: 3,

  room(state, i, limit, now) {
    const nowMs = Math.floor(now / 1000)
    const start = startOf(limit, nowMs)
    return roomIn(limit, currentOf(state, i, start), previousOf(state, i, limit, start), nowMs - start)
  },

  spend(state, i, limit, units, now) {
    const start = startOf(limit, Math.floor(now / 1000))
    const current = currentOf(state, i, start)
    const previous = previousOf(state, i, limit, start)
    state.n[i] = start
    state.n[i + 1] = current + units
    state.n[i + 2] = previous
  },

  giveBack(state, i, limit, units, takenUs, now) {
    const takenStart = startOf(limit, Math.floor(takenUs / 1000))
    const start = startOf(limit, Math.floor(now / 1000))
    const current = currentOf(state, i, start)
    const previous = previousOf(state, i, limit, start)
    state.n[i] = start
    state.n[i + 1] = takenStart === start ? Math.max(0, current - units) : current
    state.n[i + 2] = takenStart === start - limit.periodMs ? Math.max(0, previous - units) : previous
  },

  endUs(state, i, limit, now) {
    const start = startOf(limit, Math.floor(now / 1000))
    if (currentOf(state, i, start) > 0) return (start + 2 * limit.periodMs) * 1000
    return previousOf(state, i, limit, start) > 0 ? (start + limit.periodMs) * 1000 : now
  },

  waitUs(state, i, limit, cost, now) {
    const nowMs = Math.floor(now / 1000)
    const start = startOf(limit, nowMs)
    const current = currentOf(state, i, start)
    const here = passAt(limit, current, previousOf(state, i, limit, start), cost)
    const at = here < limit.periodMs ? start + here : start + limit.periodMs + passAt(limit, 0, current, cost)
    return at * 1000 - now
  },
}

function startOf(limit: Limit, ms: number): number {
  return Math.floor(ms / limit.periodMs) * limit.periodMs
}

function currentOf(state: State, i: number, start: number): number {
  return state.n[i] === start ? state.n[i + 1]! : 0
}

function previousOf(state: State, i: number, limit: Limit, start: number): number {
  if (state.n[i] === start) return state.n[i + 2]!
  return state.n[i] === start - limit.periodMs ? state.n[i + 1]! : 0
}

function roomIn(limit: Limit, current: number, previous: number, elapsed: number): number {
  return Math.max(0, Math.floor(limit.amount - current - (previous * (limit.periodMs - elapsed)) / limit.periodMs))
}

/** The first whole millisecond of a window at which `cost` fits; the period when it does not fit in this one. */
function passAt(limit: Limit, current: number, previous: number, cost: number): number {
  const free = limit.amount - current - cost
  if (free < 0) return limit.periodMs
  const estimate = previous === 0 ? 0 : Math.ceil(limit.periodMs * (1 - free / previous))
  // Division rounds; walk the last step so that the answer is neither early nor late.
  let elapsed = Math.min(limit.periodMs, Math.max(0, estimate - 1))
  while (elapsed < limit.periodMs && roomIn(limit, current, previous, elapsed) < cost) elapsed++
  return elapsed
}
