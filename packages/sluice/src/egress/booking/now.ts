import { mayPass } from './book.ts'
import { type Decider, fits } from './capacity.ts'
import { enterCall, move, settle, takeOutOfAll } from './grants.ts'
import { limitsInForce } from './limits.ts'
import { expire } from './log.ts'
import type { BookingRules, Units } from './messages.ts'
import { payRetry } from './pauses.ts'
import type { GrantRecord, UpstreamState } from './state.ts'

/** Decides with the limits in force at the last exchange. */
export function deciderOf(state: UpstreamState, rules: BookingRules): Decider {
  return { state, rules, limits: limitsInForce(state), reserved: new Map() }
}

/** What a call needs that is granted without an exchange. */
export interface DirectCall {
  readonly units: Units
  readonly arrivalMs?: number | undefined
  readonly first: boolean
}

/**
 * A grant where there is room and nobody waits: the same as an exchange with this one booking, without looking at
 * everything else. Undefined if it cannot be; then nothing was changed. The state must be in this process, as the only
 * clock decides.
 */
export function grantNow(by: Decider, owner: string, call: DirectCall, nowUs: number): GrantRecord | undefined {
  const { state, rules } = by
  const record = state.owners.get(owner)
  if (record === undefined || record.isGone || state.pauses.size > 0 || !mayPass(state, owner)) return undefined
  advanceTo(by, nowUs)
  if (!fits(by, call.units)) return undefined
  record.seenUs = state.time.verifiedUs
  if (call.first) payRetry(state, rules)
  const arrivalUs = call.arrivalMs === undefined ? -1 : Math.ceil(call.arrivalMs * 1000)
  return enterCall(by, record, 0, call.units, arrivalUs, '')
}

/** The call of a grant has arrived at another moment than was entered. */
export function moveNow(by: Decider, record: GrantRecord, atUs: number, nowUs: number): void {
  const arrivesUs = atUs + by.state.time.offsetUs
  if (arrivesUs === record.arrivesUs) return
  advanceTo(by, nowUs)
  move(by, record, arrivesUs)
}

/** What a call cost, or undefined if nothing was written. */
export function settleNow(by: Decider, record: GrantRecord, units: Units | undefined, nowUs: number): void {
  advanceTo(by, nowUs)
  if (units) settle(by, record, units)
  else takeOutOfAll(by, record)
}

function advanceTo({ state, limits }: Decider, nowUs: number): void {
  const { time, logs } = state
  time.timeUs = Math.max(time.timeUs, nowUs + time.offsetUs)
  time.verifiedUs = time.timeUs
  for (const limit of limits) {
    const log = logs.get(limit.key)
    if (log) expire(log, limit, time.verifiedUs)
  }
}
