import type { Algorithm } from './algorithm.ts'
import { hasPermit } from './state.ts'

/** A permit may come back long before its hold expires; asking again each second is often enough. */
const soonUs = 1_000_000

/**
 * Counts what is in flight: the holds that are open on the subject.
 *
 * Bound: at most `amount` units held at any moment. A holder that crashes gives its permit back when its hold expires.
 * State: none of its own; the holds are the state.
 */
export const concurrency: Algorithm = {
  fields: 0,

  room(state, _i, limit, now) {
    let held = 0
    for (const hold of state.extra?.holds ?? []) {
      if (hasPermit(hold) && hold.expiresUs > now) held += hold.cost
    }
    return Math.max(0, limit.amount - held)
  },

  // The hold itself is the spending; the engine adds and removes it.
  spend() {},
  giveBack() {},

  endUs(state, _i, _limit, now) {
    let end = now
    for (const hold of state.extra?.holds ?? []) if (hasPermit(hold)) end = Math.max(end, hold.expiresUs)
    return end
  },

  waitUs(state, i, limit, cost, now) {
    let room = this.room(state, i, limit, now)
    const open = (state.extra?.holds ?? []).filter((hold) => hasPermit(hold) && hold.expiresUs > now)
    for (const hold of open.sort((a, b) => a.expiresUs - b.expiresUs)) {
      room += hold.cost
      if (room >= cost) return Math.min(hold.expiresUs - now, soonUs)
    }
    return 0
  },
}
