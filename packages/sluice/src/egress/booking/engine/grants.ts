import { holdUs } from '../constants.ts'
import type { RegisterStep, ReportStep, StepResult, Units } from '../messages.ts'
import { costOf, type Decider, type Exchanging } from './capacity.ts'
import { enter, takeOut } from './log.ts'
import type { WaiterRecord } from './queue.ts'
import type { GrantRecord, OwnerRecord, UpstreamState } from './state.ts'

/** What of a call counts. */
type EnteredCall = Pick<WaiterRecord, 'id' | 'units' | 'arrivalUs'>

function enterInAll({ logged }: Decider, units: Units, atUs: number, leastUs: number): void {
  for (const { limit, log } of logged) enter(log, limit, atUs, costOf(limit, units), leastUs)
}

/** Takes a call out of all logs. */
export function takeOutOfAll({ logged }: Decider, { units, arrivesUs }: GrantRecord): void {
  for (const { limit, log } of logged) takeOut(log, limit, arrivesUs, costOf(limit, units))
}

/** Enters a call into the log of every limit. Until it is reported, it counts as on its way for as long as can be. */
export function enterCall(by: Decider, owner: OwnerRecord, no: number, call: EnteredCall): GrantRecord {
  const { state, rules, logged } = by
  const { id, units, arrivalUs } = call
  const { timeUs, verifiedUs } = state.time
  const onItsWayUs = arrivalUs < 0 ? rules.timeoutMs * 1000 : Math.max(arrivalUs, state.widenedUs)
  const arrivesUs = timeUs + holdUs + onItsWayUs
  if (onItsWayUs > rules.arrivalMs * 1000) state.longUntilUs = Math.max(state.longUntilUs, arrivesUs)
  enterInAll(by, units, arrivesUs, timeUs)
  for (const { limit, log } of logged) if (log.total >= limit.amount) log.fullUs = verifiedUs
  owner.granted += 1
  return { units, no, id, arrivesUs }
}

/** Grants the call of a waiter of the asking process. */
export function grant(by: Exchanging, waiter: WaiterRecord): void {
  const { state, asked, owner, own, grants } = by
  const number = ++state.numbers
  own.set(`${state.marker}.${number}`, enterCall(by, owner, asked.no, waiter))
  grants.push({ id: waiter.id, number })
}

export function grantsOf({ grants }: UpstreamState, owner: string): Map<string, GrantRecord> {
  const own = grants.get(owner) ?? new Map<string, GrantRecord>()
  grants.set(owner, own)
  return own
}

/** A call has arrived at another moment than was entered; a later one is entered whether it still counts or not. */
export function move(by: Decider, record: GrantRecord, atUs: number): void {
  if (atUs > record.arrivesUs) {
    takeOutOfAll(by, record)
    enterInAll(by, record.units, atUs, atUs)
  } else
    for (const { limit, log } of by.logged)
      enter(log, limit, atUs, takeOut(log, limit, record.arrivesUs, costOf(limit, record.units)), atUs)
  record.arrivesUs = atUs
}

/** Grants that the process did not receive; returns their calls, which it books again. */
export function voidUnreceived(by: Exchanging): string[] {
  const { asked, owner, own } = by
  const voided: string[] = []
  for (const [name, record] of own) {
    if (record.no <= asked.answered || record.no >= asked.no) continue
    takeOutOfAll(by, record)
    owner.granted -= 1
    own.delete(name)
    voided.push(record.id)
  }
  return voided.sort()
}

/** Nothing was written on a grant. */
export function giveBack(by: Exchanging, name: string): StepResult {
  const record = by.own.get(name)
  if (record === undefined) return { is: 'gone' }
  takeOutOfAll(by, record)
  by.own.delete(name)
  return { is: 'ok' }
}

/** By when a call has arrived. Every reported moment is a valid one, so the earliest counts. */
export function report(by: Exchanging, step: ReportStep): StepResult {
  const { state, own } = by
  const record = own.get(step.grant)
  const atUs = state.time.timeUs + step.inUs
  if (step.late) {
    // What was entered for it may be counted no longer, or no longer be known.
    if (record) takeOutOfAll(by, record)
    const units = record?.units ?? step.units ?? {}
    enterInAll(by, units, atUs, atUs)
    own.set(step.grant, { units, no: 0, id: '', arrivesUs: atUs })
    state.longUntilUs = Math.max(state.longUntilUs, atUs)
  } else if (record === undefined) return { is: 'gone' }
  else {
    if (atUs < record.arrivesUs) move(by, record, atUs)
    if (step.units) settle(by, record, step.units)
  }
  if (step.final) own.delete(step.grant)
  return { is: 'ok' }
}

/** The actual cost replaces the expected one. What was not expected counts from now. */
export function settle({ state, logged }: Decider, record: GrantRecord, units: Units): void {
  for (const { limit, log } of logged) {
    const actual = units[limit.unit]
    if (actual === undefined || limit.unit === 'requests') continue
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
export function register({ state, logged, owner, own }: Exchanging, step: RegisterStep, isNew: boolean): StepResult {
  const { timeUs } = state.time
  owner.granted = owner.ended + step.inFlight
  owner.hasLeft = false
  // Its first registration may have been executed although it had no answer.
  for (const { grant, agoUs, inUs, units } of isNew ? step.grants : []) {
    const atUs = timeUs + inUs
    for (const { limit, log } of logged)
      if (log.mirroredUs === 0 || timeUs - agoUs >= log.mirroredUs - slackUs)
        enter(log, limit, atUs, costOf(limit, units), Math.min(timeUs, atUs))
    if (inUs > 0) own.set(grant, { units, no: 0, id: '', arrivesUs: atUs })
  }
  return { is: 'ok' }
}
