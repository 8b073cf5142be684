import { windowMsOf } from '../algorithms/limit.ts'
import type { Hold, State } from '../algorithms/state.ts'
import { msOf } from '../algorithms/window.ts'
import type { Answer, Ask, Charge, ChargeTerms, HoldRequest, LimitStatus } from './ask.ts'
import { blockFor, blockOf, fitBeforeBlock, strike } from './block.ts'
import { keptEndUs } from './convert-state.ts'
import {
  addTaking,
  dueOf,
  expireHolds,
  extend,
  isToHold,
  knownHold,
  openHolds,
  resize,
  settle,
  spend,
} from './holds.ts'
import { type LimitSet, maxLimitsPerRule } from './limit-set.ts'
import { takeWindows, withPeriod } from './take-windows.ts'

/**
 * Decides one ask on the states of its charges, and leaves the states as they are after it. This is the whole meaning
 * of a decision: the memory store runs it on what it keeps, the Redis store on what a script read, in the same order
 * and at the same instant.
 */
export function decide(ask: Ask, states: readonly State[], now: number): Answer {
  const { charges } = ask
  for (let c = 0; c < charges.length; c++) {
    if (states[c]!.extra !== undefined) expireHolds(charges[c]!, states[c]!, now)
  }
  switch (ask.kind) {
    case 'take': {
      if (charges.length === 1 && ask.hold === undefined) {
        const charge = charges[0]!
        const block = blockOf(states[0]!)
        if (block && charge.cost > 0 && !charge.limits.shared) return done(ask, states, now, 0, false)
        if (!block && charge.limits.plain) return takeOne(charge, states[0]!, ask.copies, now)
      }
      const known = ask.hold && states.map((state) => knownHold(state, ask.hold!.id))
      const due = known === undefined ? charges : dueOf(charges, known, ask.hold!)
      const granted = take(due, states, ask.copies, ask.hold, now)
      const allowed = granted === ask.copies
      const answer = { allowed, granted, nowUs: now, statuses: statusesOf(due, states, allowed, now) }
      return known === undefined ? answer : { ...answer, known }
    }
    case 'peek': {
      const granted = copiesThatFit(charges, states, 1, now)
      const holds = states.map(openHolds)
      return { allowed: granted === 1, granted, nowUs: now, statuses: statusesOf(charges, states, false, now), holds }
    }
    case 'settle':
      return done(
        ask,
        states,
        now,
        count(states, (state, c) => settle(charges[c]!, state, ask.id, now)),
      )
    case 'resize':
      return done(
        ask,
        states,
        now,
        count(states, (state, c) => resize(charges[c]!, state, ask.id, now)),
      )
    case 'extend':
      return done(
        ask,
        states,
        now,
        count(states, (state) => extend(state, ask.id, now + ask.ttlUs)),
      )
    case 'refund': {
      // Clocks of cluster nodes differ: what another node says was taken later than now was taken now.
      const takenUs = Math.min(ask.takenUs ?? now, now)
      for (let c = 0; c < charges.length; c++) giveBack(charges[c]!, states[c]!, charges[c]!.cost, takenUs, now)
      return done(ask, states, now, charges.length)
    }
    case 'debit':
      debit(charges[0]!, states[0]!, ask.units, now)
      return done(ask, states, now, 1)
    case 'raise':
      raise(charges[0]!, states[0]!, ask.units, now)
      return done(ask, states, now, 1)
    case 'block':
      return done(
        ask,
        states,
        now,
        count(states, (state) => blockFor(state, ask.forUs, now)),
        false,
      )
    case 'reset':
      for (const [c, state] of states.entries()) clear(state, charges[c]!.limits.fields)
      return done(ask, states, now, charges.length)
  }
}

/** When the state of a subject stops mattering and can be forgotten. */
export function setEndUs(set: LimitSet, state: State, now: number): number {
  const { limits, algorithms, offsets } = set
  let end = now
  for (let l = 0; l < limits.length; l++) {
    const at = algorithms[l]!.endUs(state, state.at + offsets[l]!, limits[l]!, now)
    if (at > end) end = at
  }
  if (state.extra) {
    for (const hold of state.extra.holds) if (hold.expiresUs > end) end = hold.expiresUs
    for (const kept of state.extra.kept) end = Math.max(end, keptEndUs(kept, now))
  }
  return end
}

/** The room of each limit of the charge that is being decided. */
const rooms = new Float64Array(maxLimitsPerRule)

/**
 * `take` of one subject without a hold, which nearly all decisions are: what is left is what there was less what was
 * spent.
 */
export function takeOne(charge: ChargeTerms, state: State, copies: number, now: number): Answer {
  if (charge.limits.windows) return takeWindows(charge, state, copies, now)
  if (charge.limits.paced) return charge.limits.takePaced!(charge, state, copies, now)
  return takeEach(charge, state, copies, now)
}

/** The same by asking the algorithm of each limit. */
function takeEach(charge: ChargeTerms, state: State, copies: number, now: number): Answer {
  const { limits, algorithms, offsets } = charge.limits
  const { cost } = charge
  const { length } = limits
  let granted = copies
  for (let l = 0; l < length; l++) {
    const room = algorithms[l]!.room(state, state.at + offsets[l]!, limits[l]!, now)
    rooms[l] = room
    if (room < granted * cost) granted = Math.floor(room / cost)
  }
  const units = granted * cost
  if (units > 0) spend(charge, state, units, now)
  const passed = granted === copies
  const statuses = new Array<LimitStatus>(length)
  for (let l = 0; l < length; l++) statuses[l] = statusOfLimit(charge, l, state, rooms[l]! - units, passed, now)
  return { allowed: passed, granted, nowUs: now, statuses: [statuses] }
}

function take(
  charges: readonly Charge[],
  states: readonly State[],
  copies: number,
  hold: HoldRequest | undefined,
  now: number,
): number {
  const granted = copiesThatFit(charges, states, copies, now)
  if (granted < copies) strikeDenied(charges, states, copies, granted, now)
  if (granted > 0) spendAll(charges, states, granted, hold, now)
  if (granted < copies) noteDenial(charges, states, now)
  return granted
}

function spendAll(
  charges: readonly Charge[],
  states: readonly State[],
  granted: number,
  hold: HoldRequest | undefined,
  now: number,
): void {
  for (let c = 0; c < charges.length; c++) {
    const state = states[c]!
    const charge = charges[c]!
    spend(charge, state, granted * charge.cost, now)
    if (hold !== undefined && isToHold(charge, hold)) addTaking(state, charge, hold, now)
    else if (charge.limits.block?.counts === 'charges' && charge.cost > 0)
      strike(charge.limits.block, state, granted, now)
  }
}

/** Lets the shares that were a reason for a denial know of it. */
function noteDenial(charges: readonly Charge[], states: readonly State[], now: number): void {
  for (const [c, { limits: set, cost }] of charges.entries()) {
    if (!set.shared) continue
    const state = states[c]!
    for (const [l, limit] of set.limits.entries())
      set.algorithms[l]!.deny?.(state, state.at + set.offsets[l]!, limit, cost, now)
  }
}

/** Counts a denial for each subject that was a reason for it. */
function strikeDenied(
  charges: readonly Charge[],
  states: readonly State[],
  copies: number,
  granted: number,
  now: number,
): void {
  for (const [c, charge] of charges.entries()) {
    if (charge.limits.block?.counts !== 'denials') continue
    const fit = charges.length === 1 ? granted : copiesThatFit([charge], [states[c]!], copies, now)
    if (fit < copies) strike(charge.limits.block, states[c]!, copies - fit, now)
  }
}

function copiesThatFit(charges: readonly Charge[], states: readonly State[], copies: number, now: number): number {
  let fit = copies
  for (let c = 0; c < charges.length; c++) {
    const { cost, limits: set } = charges[c]!
    if (cost === 0) continue
    const state = states[c]!
    fit = fitBeforeBlock(set.block, state, fit)
    if (fit === 0) return 0
    for (let l = 0; l < set.limits.length; l++) {
      const room = set.algorithms[l]!.room(state, state.at + set.offsets[l]!, set.limits[l]!, now)
      // Copies take no permit: where one fits, all do.
      if (set.limits[l]!.algorithm === 'concurrency') {
        if (room < cost) return 0
      } else if (room < fit * cost) {
        fit = Math.floor(room / cost)
        if (fit === 0) return 0
      }
    }
  }
  return fit
}

function debit(charge: Charge, state: State, units: readonly number[], now: number): void {
  const { limits, algorithms, offsets } = charge.limits
  for (let l = 0; l < limits.length; l++) {
    if (units[l]! > 0) algorithms[l]!.spend(state, state.at + offsets[l]!, limits[l]!, units[l]!, now)
  }
}

function raise(charge: Charge, state: State, units: number, now: number): void {
  const { limits, algorithms, offsets } = charge.limits
  for (let l = 0; l < limits.length; l++) algorithms[l]!.raise?.(state, state.at + offsets[l]!, limits[l]!, units, now)
}

function giveBack(charge: Charge, state: State, units: number, takenUs: number, now: number): void {
  const { limits, algorithms, offsets } = charge.limits
  for (let l = 0; l < limits.length; l++)
    algorithms[l]!.giveBack(state, state.at + offsets[l]!, limits[l]!, units, takenUs, now)
}

function clear(state: State, fields: number): void {
  state.n.fill(0, state.at, state.at + fields)
  state.extra = undefined
}

function count(states: readonly State[], change: (state: State, index: number) => boolean): number {
  return states.reduce((sum, state, index) => sum + (change(state, index) ? 1 : 0), 0)
}

/** With `passed`, nothing is to be waited for. */
function done(ask: Ask, states: readonly State[], now: number, granted: number, passed = true): Answer {
  return {
    allowed: granted === ask.charges.length,
    granted,
    nowUs: now,
    statuses: statusesOf(ask.charges, states, passed, now),
  }
}

function statusesOf(
  charges: readonly Charge[],
  states: readonly State[],
  passed: boolean,
  now: number,
): LimitStatus[][] {
  // An array that starts empty and grows takes room for seventeen: nearly all decisions have one charge.
  if (charges.length === 1) return [statusOf(charges[0]!, states[0]!, passed, now)]
  return charges.map((charge, c) => statusOf(charge, states[c]!, passed, now))
}

/** The status of every limit of a charge. When it has passed, nothing is to be waited for. */
function statusOf(charge: Charge, state: State, passed: boolean, now: number): LimitStatus[] {
  const { limits, algorithms, offsets } = charge.limits
  const block = passed ? undefined : blockOf(state)
  const statuses = new Array<LimitStatus>(limits.length + (block ? 1 : 0))
  for (let l = 0; l < limits.length; l++) {
    const remaining = algorithms[l]!.room(state, state.at + offsets[l]!, limits[l]!, now)
    statuses[l] = statusOfLimit(charge, l, state, remaining, passed, now)
  }
  if (block) statuses[limits.length] = blockStatus(charge.rule.name, block, now)
  return statuses
}

function statusOfLimit(
  charge: ChargeTerms,
  l: number,
  state: State,
  remaining: number,
  passed: boolean,
  now: number,
): LimitStatus {
  const limit = charge.limits.limits[l]!
  const algorithm = charge.limits.algorithms[l]!
  const i = state.at + charge.limits.offsets[l]!
  let waitUs = 0
  if (!passed && remaining < charge.cost) {
    waitUs = charge.cost > limit.burst ? Infinity : algorithm.waitUs(state, i, limit, charge.cost, now)
  }
  const resetUs = algorithm.resetUs?.(state, i, limit, now) ?? algorithm.endUs(state, i, limit, now)
  const status = {
    rule: charge.rule.name,
    name: limit.name,
    amount: limit.amount,
    remaining,
    windowMs: windowMsOf(limit),
    resetMs: Math.ceil((resetUs - now) / 1000),
    retryAfterMs: Math.ceil(waitUs / 1000),
  }
  const dated = limit.calendar === undefined ? status : withPeriod(status, limit, msOf(now))
  if (algorithm.pace !== undefined) return { ...dated, pace: algorithm.pace(state, i, limit, now) }
  return algorithm.share === undefined ? dated : { ...dated, share: algorithm.share(state, i, limit, now) }
}

/** What a block looks like among the limits. */
function blockStatus(rule: string, { cost, expiresUs }: Hold, now: number): LimitStatus {
  const resetMs = Math.ceil((expiresUs - now) / 1000)
  return { rule, name: 'block', amount: 0, remaining: 0, windowMs: cost, resetMs, retryAfterMs: resetMs, block: true }
}
