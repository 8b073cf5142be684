import type { PaceStatus } from '../engine/ask.ts'
import type { Limit } from '../engine/limit.ts'
import type { State } from '../engine/state.ts'
import type { Algorithm } from './algorithm.ts'
import { curveEnd, plannedAt, positionAt, type Segment, segmentAt, timeOf } from './pace-curve.ts'
import { msOf } from './window.ts'

/** Where the bucket's position is kept: a debit may go far beyond the end of the curve. */
export const farthest: number = 2 ** 52

/**
 * Spreads the amount of a calendar limit over its period along a curve. It stands beside that limit, which holds the
 * total by itself.
 *
 * Bound: at any instant at most what is planned until then plus `burst`; in any stretch at most `burst` plus `catchUp`
 * times what is planned in it; never more than the amount in a period. When demand is at least the planned rate
 * throughout, the amount is used up. The second bound is a gcra whose time is the position on the curve. State: the
 * period's start (ms), its count, and the position at which the bucket is full again.
 */
export const pace: Algorithm = {
  fields: 3,

  room(state, i, limit, now) {
    return roomAt(state, i, limit, msOf(now))
  },

  spend(state, i, limit, units, now) {
    const segment = segmentAt(limit, msOf(now))
    begin(state, i, segment)
    const position = positionAt(segment, msOf(now))
    state.n[i + 1]! += units
    state.n[i + 2] = Math.min(farthest, Math.max(state.n[i + 2]!, position) + units * limit.pace!.interval)
  },

  // Only the count is lowered. The bucket fills again by itself: given back at once, it would allow another burst.
  giveBack(state, i, limit, units, takenUs, now) {
    const { period } = segmentAt(limit, msOf(now))
    if (state.n[i] !== period.startMs || msOf(takenUs) < period.startMs) return
    state.n[i + 1] = Math.max(0, state.n[i + 1]! - units)
  },

  raise(state, i, limit, units, now) {
    if (units === 0) return
    begin(state, i, segmentAt(limit, msOf(now)))
    state.n[i + 1] = Math.max(units, state.n[i + 1]!)
  },

  endUs(state, i, limit, now) {
    const { period } = segmentAt(limit, msOf(now))
    return state.n[i] === period.startMs ? period.endMs * 1000 : now
  },

  waitUs(state, i, limit, cost, now) {
    const nowMs = msOf(now)
    const { period } = segmentAt(limit, nowMs)
    const count = state.n[i] === period.startMs ? state.n[i + 1]! : 0
    const full = state.n[i] === period.startMs ? state.n[i + 2]! : 0
    const { interval } = limit.pace!
    const byPlan = Math.ceil(((count + cost - limit.burst) / limit.amount) * curveEnd)
    const target = Math.max(byPlan, full + (cost - limit.burst) * interval)
    if (limit.amount - count < cost || target > curveEnd) return period.endMs * 1000 - now
    // Division rounds; walk the last steps so that the answer is neither early nor late.
    let atMs = Math.max(nowMs + 1, Math.min(period.endMs, timeOf(limit, target, nowMs)))
    while (atMs > nowMs + 1 && roomAt(state, i, limit, atMs - 1) >= cost) atMs--
    while (atMs < period.endMs && roomAt(state, i, limit, atMs) < cost) atMs++
    return atMs * 1000 - now
  },

  pace(state, i, limit, now): PaceStatus {
    const segment = segmentAt(limit, msOf(now))
    const spent = state.n[i] === segment.period.startMs ? state.n[i + 1]! : 0
    return { planned: plannedAt(limit, positionAt(segment, msOf(now))), spent, burst: limit.burst }
  },
}

function roomAt(state: State, i: number, limit: Limit, atMs: number): number {
  const segment = segmentAt(limit, atMs)
  const position = positionAt(segment, atMs)
  const isCurrent = state.n[i] === segment.period.startMs
  const count = isCurrent ? state.n[i + 1]! : 0
  const full = isCurrent ? state.n[i + 2]! : 0
  const { amount, burst } = limit
  const byPlan = Math.min(amount, plannedAt(limit, position) + burst) - count
  return Math.max(0, Math.min(byPlan, rateRoom(limit, full, position)))
}

/** How many units the bucket has at a position. */
export function rateRoom({ burst, pace }: Limit, full: number, position: number): number {
  const { interval } = pace!
  return Math.floor((burst * interval - Math.max(0, full - position)) / interval)
}

function begin(state: State, i: number, { period }: Segment): void {
  if (state.n[i] === period.startMs) return
  state.n[i] = period.startMs
  state.n[i + 1] = 0
  state.n[i + 2] = 0
}
