import { claimUs, silentUs } from '../constants.ts'
import type { BookStep, StepResult, Units } from '../messages.ts'
import { chargeOf, costOf, type Decider, type Exchanging, fits, turnInUs } from './capacity.ts'
import { grant } from './grants.ts'
import { pausedMs, payRetry } from './pauses.ts'
import {
  aheadOf,
  charge,
  dequeue,
  enqueue,
  type FairQueue,
  firstWaiter,
  leastAhead,
  refund,
  type WaiterRecord,
  waitingOf,
} from './queue.ts'
import type { UpstreamState } from './state.ts'

/** Requests a grant: at once where there is room and nobody waits, otherwise by waiting. */
export function book(by: Exchanging, step: BookStep): StepResult {
  const { state, asked } = by
  const known = state.waiters.get(step.id)
  if (known !== undefined) return { is: 'queued', ...waitOf(by, known) }
  const ms = step.scope ? pausedMs(state, step.scope) : 0
  if (ms > 0) return { is: 'paused', ms }
  if (step.first) payRetry(by)
  const waiter = waiterOf(by, asked.owner, step)
  if (mayPass(state, asked.owner) && fits(by, waiter.units)) {
    grant(by, waiter)
    return { is: 'ok' }
  }
  const wait = waitOf(by, waiter)
  if (isFull(by, waiter)) return { is: 'full', ...wait }
  if (wait.earliestMs > step.maxWaitMs && leastUs(by, waiter) > step.maxWaitMs * 1000)
    return { is: 'too-long', ...wait }
  enqueue(state.queue, waiter)
  state.waiters.set(waiter.id, waiter)
  return { is: 'queued', ...wait }
}

/** Whether no call waits that comes before a new one. */
export function mayPass({ queue, due }: UpstreamState, owner: string): boolean {
  return queue.waiting === 0 && !due.some(({ waiter }) => waiter.owner === owner)
}

function waiterOf({ state, limits }: Decider, owner: string, step: BookStep): WaiterRecord {
  const { id, caller = '', tenant = '', scope = '', units = {}, arrivalUs, waitedMs, priorityMs = 0, weight = 1 } = step
  const order = Math.floor(state.time.verifiedUs / 1000) - Math.floor(waitedMs) - priorityMs
  const charges = { charge: chargeOf(limits, units, 1), tenantCharge: chargeOf(limits, units, weight) }
  return { id, owner, caller, tenant, scope, order, seq: ++state.seq, units, arrivalUs, ...charges }
}

const aheadNow = ({ queue, due }: UpstreamState, waiter: WaiterRecord): number => aheadOf(queue, waiter) + due.length

/** How long it takes at least, should calls that are not reported yet give their units back. */
function leastUs(by: Decider, waiter: WaiterRecord): number {
  const ahead = aheadNow(by.state, waiter)
  return turnInUs(by, waiter.units, ahead, unitsAhead(by.state.queue, ahead), true)
}

function waitOf(by: Decider, waiter: WaiterRecord): { readonly ahead: number; readonly earliestMs: number } {
  const ahead = aheadNow(by.state, waiter)
  const inUs = turnInUs(by, waiter.units, ahead, unitsAhead(by.state.queue, ahead), false)
  return { ahead, earliestMs: Math.max(1, Math.ceil(inUs / 1000)) }
}

/** The units of those ahead, by unit, if all who wait need the same. */
function unitsAhead({ units, waiting }: FairQueue, ahead: number): Units {
  const before: Record<string, number> = {}
  for (const [unit, queued] of units) before[unit] = ahead >= waiting ? queued : Math.floor((queued * ahead) / waiting)
  return before
}

/**
 * One caller or tenant that fills the whole queue would keep all others out of it: each has half of it, and a tenant of
 * a caller half of what the caller has.
 */
function isFull({ state, rules }: Decider, { caller, tenant }: WaiterRecord): boolean {
  const { queue } = state
  const own = waitingOf(queue, caller, tenant)
  const half = Math.ceil(rules.maxQueue / 2)
  const areNamed = caller !== '' || tenant !== '' || queue.tenants > (own > 0 ? 1 : 0)
  const share = caller === '' || tenant === '' ? half : Math.ceil(half / 2)
  const most = rules.maxQueuePerTenant >= 0 ? rules.maxQueuePerTenant : areNamed ? share : rules.maxQueue
  const ofCaller = caller === '' ? 0 : waitingOf(queue, caller)
  return queue.waiting >= rules.maxQueue || own >= most || (caller !== '' && ofCaller >= half)
}

/** Takes a waiter out of the queue, or out of those whose turn it is. */
export function cancel({ state, asked }: Exchanging, id: string): StepResult {
  const waiter = state.waiters.get(id)
  if (waiter?.owner !== asked.owner) return { is: 'gone' }
  state.waiters.delete(id)
  if (!dequeue(state.queue, waiter)) {
    state.due = state.due.filter((each) => each.waiter !== waiter)
    refund(state.queue, waiter)
  }
  return { is: 'ok' }
}

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
