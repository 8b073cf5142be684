import { claimUs, silentUs } from '../constants.ts'
import { costOf, type Decider, type Exchanging, fits, turnInUs } from './capacity.ts'
import { grant } from './grants.ts'
import { pausedMs } from './pauses.ts'
import { charge, dequeue, firstWaiter, leastAhead } from './queue.ts'
import type { WaiterRecord } from './tenant-queue.ts'

/** So many turns are given in one exchange, so that none takes long; then the process asks again at once. */
export const mostTurns = 128

/** Keeps units for waiters of other processes whose turn it is, for as long as those may still ask. */
export function reserveDue(by: Exchanging): void {
  const { due, time } = by.state
  for (const { waiter, sinceUs } of due) {
    if (waiter.owner !== by.asked.owner && time.verifiedUs - sinceUs <= claimUs) reserve(by, waiter)
  }
}

function reserve({ limits, reserved }: Decider, { units }: WaiterRecord): void {
  for (const limit of limits) reserved.set(limit.key, (reserved.get(limit.key) ?? 0) + costOf(limit, units))
}

/**
 * Gives turns in order, until the next one does not fit: no waiter is overtaken because it needs more. Only the
 * process that asks is granted anything. A waiter of another process has its turn when that process asks: for a moment
 * units are kept for it; after that it is passed over, and is first when its process asks again. Returns when to ask
 * again.
 */
export function giveTurns(by: Exchanging): number {
  const { state, asked } = by
  let first: WaiterRecord | undefined
  const mine = state.due.filter(({ waiter }) => waiter.owner === asked.owner)
  for (const { waiter } of mine) {
    if (giveOwn(by, waiter) === 'full') {
      first = waiter
      break
    }
    state.due = state.due.filter((each) => each.waiter !== waiter)
  }
  for (let turns = 0; first === undefined; turns++) {
    const waiter = firstWaiter(state.queue)
    if (waiter === undefined) return -1
    if (turns === mostTurns) return 0
    const owner = state.owners.get(waiter.owner)
    if (owner === undefined || owner.isGone) {
      dequeue(state.queue, waiter)
      state.waiters.delete(waiter.id)
    } else if (waiter.owner === asked.owner) {
      const turn = giveOwn(by, waiter)
      if (turn === 'full') break
      if (turn === 'granted') charge(state.queue, waiter)
      dequeue(state.queue, waiter)
    } else {
      const isSilent = state.time.verifiedUs - owner.seenUs >= silentUs
      if (!isSilent && !fits(by, waiter.units)) break
      charge(state.queue, waiter)
      dequeue(state.queue, waiter)
      state.due.push({ waiter, sinceUs: isSilent ? 0 : state.time.verifiedUs })
      if (!isSilent) reserve(by, waiter)
    }
  }
  const ahead = first === undefined ? leastAhead(state.queue, asked.owner) : 0
  return turnInUs(by, first?.units ?? {}, ahead, {}, false) || claimUs
}

/** The turn of a waiter of the asking process. */
function giveOwn(by: Exchanging, waiter: WaiterRecord): 'granted' | 'paused' | 'full' {
  const { state } = by
  const ms = waiter.scope === '' ? 0 : pausedMs(state, waiter.scope)
  if (ms === 0 && !fits(by, waiter.units)) return 'full'
  state.waiters.delete(waiter.id)
  if (ms === 0) grant(by, waiter)
  else by.paused.push({ id: waiter.id, ms })
  return ms === 0 ? 'granted' : 'paused'
}
