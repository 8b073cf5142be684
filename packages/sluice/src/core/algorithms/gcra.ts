import type { Algorithm } from './algorithm.ts'
import type { Limit } from './limit.ts'
import type { State } from './state.ts'

/**
 * The generic cell rate algorithm, which is a token bucket written as one timestamp: the time at which the bucket would
 * be full again.
 *
 * Bound: at most `burst + amount x W / period` in any stretch W. A unit takes a whole number of microseconds (rounded
 * up), so a rate that does not divide the period is held slightly below, never above. State: that time (us), and the
 * interval it was counted with, so that usage carries over when the rate changes: what was spent at the old rate drains
 * at the old rate until the next spend, which counts it anew.
 */
export const gcra: Algorithm = {
  fields: 2,

  room(state, i, limit, now) {
    return Math.max(0, limit.burst - Math.ceil((fullAt(state, i, limit, now) - now) / limit.intervalUs))
  },

  spend(state, i, limit, units, now) {
    state.n[i] = fullAt(state, i, limit, now) + units * limit.intervalUs
    state.n[i + 1] = limit.intervalUs
  },

  giveBack(state, i, _limit, units, takenUs, now) {
    // What has drained since it was taken is no longer in the bucket; returning it too would let others burst twice.
    const backUs = Math.max(0, units * state.n[i + 1]! - (now - takenUs))
    state.n[i] = Math.max(now, state.n[i]! - backUs)
  },

  endUs(state, i, _limit, now) {
    return Math.max(now, state.n[i]!)
  },

  waitUs(state, i, limit, cost, now) {
    return state.n[i]! + (cost - limit.burst) * state.n[i + 1]! - now
  },
}

function fullAt(state: State, i: number, limit: Limit, now: number): number {
  const at = state.n[i]!
  if (at <= now) return now
  const interval = state.n[i + 1]!
  return interval === limit.intervalUs ? at : now + Math.ceil((at - now) / interval) * limit.intervalUs
}
