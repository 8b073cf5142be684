import { holdUs, mirrorLastsUs, mostSilenceUs } from '../constants.ts'
import type { Decider, Exchanging } from '../engine/capacity.ts'
import type { Sharing } from '../engine/exchange.ts'
import { move, register } from '../engine/grants.ts'
import { enter, type Limit, type LimitLog, limitOf, pacedUntilUs } from '../engine/log.ts'
import { newState, type UpstreamState } from '../engine/state.ts'
import type { BookingRules, Exchange, ExchangeReply, RegisterStep, StepResult } from '../messages.ts'
import { advance } from './shared-time.ts'

/** What `exchange.lua` adds to an exchange, as the state is on a server. */
export const onServer: Sharing = {
  advance,
  cutAll,
  register: registerOnServer,
  copyLogs,
}

/**
 * Where an earlier state was kept, as after a failover, calls that it granted are still in its logs; what has arrived
 * is moved. All others are in no log, except in that of a long limit of which a copy was registered.
 */
function registerOnServer(by: Exchanging, step: RegisterStep, isNew: boolean): StepResult {
  const { state, own } = by
  const { timeUs, verifiedUs } = state.time
  if (isNew && verifiedUs < state.openUs) enterMirrors(by, step)
  const kept = new Map(isNew ? own : [])
  const unknown = step.grants.filter(({ grant, inUs }) => {
    const before = kept.get(grant)
    if (before && inUs <= 0 && timeUs + inUs < before.arrivesUs) move(by, before, timeUs + inUs)
    return !kept.delete(grant)
  })
  register(by, { ...step, grants: unknown }, isNew)
  // What the process has forgotten has arrived.
  for (const [name, record] of kept) {
    if (timeUs < record.arrivesUs) move(by, record, timeUs)
    own.delete(name)
  }
  return { is: 'ok' }
}

/** The first copy of each long limit that is recent enough; with it the log is as complete as it was. */
function enterMirrors({ state, logged }: Decider, { mirrors }: RegisterStep): void {
  const { timeUs } = state.time
  for (const { key, agoUs, completeUs, entries } of mirrors)
    for (const { limit, log } of logged) {
      if (limit.key !== key || log.mirroredUs > 0 || agoUs > mirrorLastsUs) continue
      log.mirroredUs = timeUs - agoUs
      log.sinceUs = completeUs < 0 ? 0 : Math.max(1, log.mirroredUs - completeUs)
      for (const [inUs, units] of entries) enter(log, limit, timeUs + inUs, units, timeUs + inUs)
    }
}

/** Shared time was set back: what was entered before counts too long. All calls were granted before now. */
function cutAll({ state, logged, rules }: Decider): void {
  const latestUs = Math.max(state.time.timeUs + holdUs + rules.arrivalMs * 1000, state.longUntilUs)
  for (const { limit, log } of logged) cutLog(log, limit, latestUs)
  for (const own of state.grants.values())
    for (const record of own.values()) record.arrivesUs = Math.min(record.arrivesUs, latestUs)
}

/** No call was granted after now, so none can arrive later than this. */
function cutLog(log: LimitLog, limit: Limit, latestUs: number): void {
  const late = log.entries.filter(({ arrivesUs }) => arrivesUs > latestUs)
  log.entries.length -= late.length
  for (const { units, leastUs } of late) {
    log.total -= units
    enter(log, limit, latestUs, units, leastUs)
  }
}

/** The logs of limits that are longer than the silence after a loss. */
function copyLogs({ state, logged, rules }: Decider): ExchangeReply['mirrors'] {
  const { timeUs, verifiedUs } = state.time
  const long = logged.filter(({ limit }) => holdUs + rules.arrivalMs * 1000 + limit.countedUs > mostSilenceUs)
  return long.map(({ limit, log }) => {
    const completeUs = verifiedUs < pacedUntilUs(log, limit) ? Math.max(0, timeUs - log.sinceUs) : -1
    const entries = log.entries.map(({ arrivesUs, units }) => [arrivesUs - timeUs, units] as const)
    return { key: limit.key, completeUs, entries }
  })
}

/**
 * How long nothing is granted after state was lost: until what was granted before has arrived and its period has
 * passed, for short limits. Living processes register in that time what they know of long ones.
 */
export function silenceUs({ limits, arrivalMs }: BookingRules): number {
  const counted = limits.filter(({ periodMs }) => periodMs > 0).map(({ key }) => limitOf(key, 1).countedUs)
  return Math.min(mostSilenceUs, holdUs + arrivalMs * 1000 + (counted.length === 0 ? 0 : Math.min(...counted)))
}

/** What another server goes on with: what it has copied of a state. `exchange.lua` does the same. */
export function takenOver(copy: UpstreamState, marker: string, asked: Exchange, rawUs: number): UpstreamState {
  const { time, owners, grants, logs, pauses } = structuredClone(copy)
  const copiedUs = time.timeUs
  for (const owner of owners.values()) owner.isGone = true
  for (const log of logs.values()) log.mirroredUs = copiedUs
  const state = { ...newState(rawUs, marker), time, owners, grants, logs, pauses }
  advance(state, asked, rawUs)
  return { ...state, startUs: time.timeUs, openUs: time.verifiedUs + silenceUs(asked.rules) }
}
