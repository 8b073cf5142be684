import { holdUs } from '../constants.ts'
import type { Exchange, RegisterStep, ReportStep, StepResult, Units } from '../messages.ts'
import { costOf, type Decider } from './capacity.ts'
import { enter, takeOut } from './log.ts'
import type { GrantRecord, OwnerRecord, UpstreamState } from './state.ts'
import type { WaiterRecord } from './tenant-queue.ts'

/** Enters a call into the log of every limit. Until it is reported, it counts as on its way for as long as can be. */
export function enterCall(
  { state, rules, limits }: Decider,
  owner: OwnerRecord,
  no: number,
  units: Units,
  arrivalUs: number,
  id: string,
): GrantRecord {
  const { timeUs, verifiedUs } = state.time
  const onItsWayUs = arrivalUs < 0 ? rules.timeoutMs * 1000 : Math.max(arrivalUs, state.widenedUs)
  const arrivesUs = timeUs + holdUs + onItsWayUs
  if (onItsWayUs > rules.arrivalMs * 1000) state.longUntilUs = Math.max(state.longUntilUs, arrivesUs)
  for (const limit of limits) {
    const log = state.logs.get(limit.key)
    if (log === undefined) continue
    enter(log, limit, arrivesUs, costOf(limit, units), timeUs)
    if (log.total >= limit.amount) log.fullUs = verifiedUs
  }
  owner.granted += 1
  return { units, no, id, arrivesUs }
}

/** Grants the call of a waiter; returns the number of the grant. */
export function grant(by: Decider, { no }: Exchange, waiter: WaiterRecord): number {
  const { state } = by
  const number = ++state.numbers
  const record = enterCall(by, state.owners.get(waiter.owner)!, no, waiter.units, waiter.arrivalUs, waiter.id)
  grantsOf(state, waiter.owner).set(`${state.marker}.${number}`, record)
  return number
}

export function grantsOf({ grants }: UpstreamState, owner: string): Map<string, GrantRecord> {
  let own = grants.get(owner)
  if (own === undefined) {
    own = new Map()
    grants.set(owner, own)
  }
  return own
}

/** Takes a call out of all logs. */
export function takeOutOfAll({ state, limits }: Decider, { units, arrivesUs }: GrantRecord): void {
  for (const limit of limits) {
    const log = state.logs.get(limit.key)
    if (log) takeOut(log, limit, arrivesUs, costOf(limit, units))
  }
}

/** Enters a call again, at another moment. What was entered for it may be counted no longer. */
function enterAgain({ state, limits }: Decider, units: Units, atUs: number): void {
  for (const limit of limits) {
    const log = state.logs.get(limit.key)
    if (log) enter(log, limit, atUs, costOf(limit, units), atUs)
  }
}

/** A call has arrived at another moment than was entered; a later one is entered whether it still counts or not. */
export function move(by: Decider, record: GrantRecord, atUs: number): void {
  if (atUs > record.arrivesUs) {
    takeOutOfAll(by, record)
    enterAgain(by, record.units, atUs)
  } else
    for (const limit of by.limits) {
      const log = by.state.logs.get(limit.key)
      if (log) enter(log, limit, atUs, takeOut(log, limit, record.arrivesUs, costOf(limit, record.units)), atUs)
    }
  record.arrivesUs = atUs
}

/** Grants that the process did not receive; returns their calls, which it books again. */
export function voidUnreceived(by: Decider, { owner, no, answered }: Exchange): string[] {
  const { state } = by
  const voided: string[] = []
  for (const [name, record] of grantsOf(state, owner)) {
    if (record.no <= answered || record.no >= no) continue
    takeOutOfAll(by, record)
    state.owners.get(owner)!.granted -= 1
    grantsOf(state, owner).delete(name)
    voided.push(record.id)
  }
  return voided.sort()
}

/** Nothing was written on a grant. */
export function giveBack(by: Decider, owner: string, name: string): StepResult {
  const record = grantsOf(by.state, owner).get(name)
  if (record === undefined) return { is: 'gone' }
  takeOutOfAll(by, record)
  grantsOf(by.state, owner).delete(name)
  return { is: 'ok' }
}

/** By when a call has arrived. Every reported moment is a valid one, so the earliest counts. */
export function report(by: Decider, owner: string, step: ReportStep): StepResult {
  const { state } = by
  const own = grantsOf(state, owner)
  const record = own.get(step.grant)
  const atUs = state.time.timeUs + step.inUs
  if (step.late) {
    // What was entered for it may be counted no longer, or no longer be known.
    if (record) takeOutOfAll(by, record)
    const units = record?.units ?? step.units ?? {}
    enterAgain(by, units, atUs)
    if (step.final) own.delete(step.grant)
    else own.set(step.grant, { units, no: 0, id: '', arrivesUs: atUs })
    state.longUntilUs = Math.max(state.longUntilUs, atUs)
    return { is: 'ok' }
  }
  if (record === undefined) return { is: 'gone' }
  if (atUs < record.arrivesUs) move(by, record, atUs)
  if (step.units) settle(by, record, step.units)
  if (step.final) own.delete(step.grant)
  return { is: 'ok' }
}

/** The actual cost replaces the expected one. What was not expected counts from now. */
export function settle({ state, limits }: Decider, record: GrantRecord, units: Units): void {
  for (const limit of limits) {
    const log = state.logs.get(limit.key)
    const actual = units[limit.unit]
    if (log === undefined || actual === undefined || limit.unit === 'requests') continue
    const more = actual - costOf(limit, record.units)
    if (more < 0) takeOut(log, limit, record.arrivesUs, -more)
    else enter(log, limit, state.time.timeUs, more, state.time.timeUs)
  }
}

/** What exchanges and clocks may differ by when a grant is compared with the copy of a log. */
const slackUs = 500_000

/**
 * Enters calls of a process that other states granted: the shared state before an outage, or before it was lost. Where
 * the log of a long limit was copied, only those that are later are not in it.
 */
export function register({ state, limits }: Decider, owner: string, step: RegisterStep, isNew: boolean): StepResult {
  const { timeUs } = state.time
  const record = state.owners.get(owner)!
  record.granted = record.ended + step.inFlight
  record.hasLeft = false
  // Its first registration may have been executed although it had no answer.
  for (const { grant, agoUs, inUs, units } of isNew ? step.grants : []) {
    const atUs = timeUs + inUs
    for (const limit of limits) {
      const log = state.logs.get(limit.key)
      if (log === undefined || (log.mirroredUs > 0 && timeUs - agoUs < log.mirroredUs - slackUs)) continue
      enter(log, limit, atUs, costOf(limit, units), Math.min(timeUs, atUs))
    }
    if (inUs > 0) grantsOf(state, owner).set(grant, { units, no: 0, id: '', arrivesUs: atUs })
  }
  return { is: 'ok' }
}
