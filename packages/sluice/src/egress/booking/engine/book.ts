import type { BookStep, StepResult, Units } from '../messages.ts'
import { chargeOf, type Decider, type Exchanging, fits, turnInUs } from './capacity.ts'
import { grant } from './grants.ts'
import { pausedMs, payRetry } from './pauses.ts'
import { aheadOf, dequeue, enqueue, type FairQueue, refund, waitingOf } from './queue.ts'
import type { UpstreamState } from './state.ts'
import type { WaiterRecord } from './tenant-queue.ts'

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
