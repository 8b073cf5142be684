import type { Algorithm, PaceStatus } from './algorithm.ts'
import type { Limit } from './limit.ts'
import { curveEnd, plannedAt, positionAt, type Segment, segmentAt, timeOf } from './pace-curve.ts'
import type { State } from './state.ts'
import { msOf } from './window.ts'

/** Where the bucket's position is kept: a debit may go far beyond the end of the curve. */
export const farthest: number = 2 ** 52

/**
 * Spreads the amount of a calendar limit over its period along a curve. It stands beside that limit, which holds the
 * total by itself.
 *
 * Bound: at any instant at most what is planned until then plus `burst`; in any stretch at most `burst` plus `catchUp`
 * times what is planned in it; never more than the amount in a period. When every unit is asked for as soon as it is
 * free, the amount is used up. The second bound is a gcra whose time is the position on the curve. Where the amount or
 * `catchUp` changed between two takes, what was planned between them counts at the lower of both rates.
 *
 * State: the period's start (ms), its count, the position at which the bucket is full again, and the interval and
 * position that this was counted with.
 */
export const pace: Algorithm = {
  fields: 5,

  room(state, i, limit, now) {
    return roomAt(state, i, limit, msOf(now))
  },

  spend(state, i, limit, units, now) {
    const segment = segmentAt(limit, msOf(now))
    begin(state, i, segment)
    state.n[i + 1]! += units
    drawFrom(state.n, i + 2, limit, units, positionAt(segment, msOf(now)))
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
    const byPlan = Math.ceil(((count + cost - limit.burst) / limit.amount) * curveEnd)
    const byRate = state.n[i] === period.startMs ? positionOfDebt(state.n, i + 2, limit, limit.burst - cost) : 0
    const target = Math.max(byPlan, byRate)
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
  if (state.n[i] !== segment.period.startMs) return Math.min(limit.amount, limit.burst)
  return paceRoom(state.n, i, limit, position, plannedAt(limit, position))
}

/** How much may still be spent of a period whose fields begin at `i`, at a position of the curve with its plan. */
export function paceRoom(n: Float64Array, i: number, limit: Limit, position: number, planned: number): number {
  const { amount, burst } = limit
  const { interval } = limit.pace!
  const byPlan = Math.min(amount, planned + burst) - n[i + 1]!
  const byRate = Math.floor((burst * interval - debtAt(n, i + 2, interval, position)) / interval)
  return Math.max(0, Math.min(byPlan, byRate))
}

/** Makes the bucket full, as it is at the start of a period. */
export function fill(n: Float64Array, b: number): void {
  n[b] = 0
  n[b + 1] = 0
  n[b + 2] = 0
}

/** Takes units out of the bucket. */
export function drawFrom(n: Float64Array, b: number, { pace }: Limit, units: number, position: number): void {
  const { interval } = pace!
  n[b] = Math.min(farthest, position + debtAt(n, b, interval, position) + units * interval)
  n[b + 1] = interval
  n[b + 2] = position
}

/**
 * How far the bucket is from full, counted with the interval of today. Since the last take it drained at the lower rate
 * of that take's interval and today's. A position before that take is on another curve, and nothing drained.
 */
function debtAt(n: Float64Array, b: number, interval: number, position: number): number {
  const full = n[b]!
  const before = n[b + 1]!
  const from = n[b + 2]!
  const reached = Math.max(position, from)
  if (before === interval || full === 0) return Math.max(0, full - reached)
  const atRateBefore = Math.ceil(Math.max(0, full - reached) / before) * interval
  const atRateOfToday = Math.ceil((full - from) / before) * interval - (reached - from)
  return Math.min(farthest, Math.max(atRateBefore, atRateOfToday))
}

/** The position at which the bucket is only so many units from full. */
function positionOfDebt(n: Float64Array, b: number, { pace }: Limit, units: number): number {
  const { interval } = pace!
  const full = n[b]!
  const before = n[b + 1]!
  const from = n[b + 2]!
  if (before === interval || full === 0) return full - units * interval
  return Math.max(full - units * before, from + (Math.ceil((full - from) / before) - units) * interval)
}

function begin(state: State, i: number, { period }: Segment): void {
  if (state.n[i] === period.startMs) return
  state.n[i] = period.startMs
  state.n[i + 1] = 0
  fill(state.n, i + 2)
}
