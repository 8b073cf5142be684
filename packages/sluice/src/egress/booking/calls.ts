import { addUnits } from './add-units.ts'
import { forgetAnswered, noteAnswered, noteUndated } from './answered-times.ts'
import { allowed, clampUnits, unspend } from './capacity.ts'
import { addToGroup, groupsOf, unitsIn } from './groups.ts'
import type { BookedLimit, BookingRules, RegisterStep, Step, StepResult } from './messages.ts'
import { pauseOf } from './pauses.ts'
import { dequeue, enqueue, refundService } from './queue.ts'
import { addCall, type CallRecord, type UpstreamState } from './state.ts'
import type { WaiterRecord } from './tenant-queue.ts'

type StepOf<Op extends Step['op']> = Extract<Step, { op: Op }>

/** What happened to the places that were assigned to a process, when it exchanges again. */
export interface Confirmed {
  readonly held: string[]
  readonly paused: { readonly id: string; readonly ms: number }[]
}

/** Places that were assigned to a process are held from now on, unless limits or a pause changed in between. */
export function confirmAll(state: UpstreamState, rules: BookingRules, owner: string, nowMs: number): Confirmed {
  const confirmed: Confirmed = { held: [], paused: [] }
  for (const id of [...(state.assigned.get(owner) ?? [])].sort()) {
    const waiter = state.waiters.get(id)
    const call = state.calls.get(id)
    if (call === undefined) {
      // It was passed over while this process was silent; it waits again where it was.
      dropAssigned(state, owner, id)
      if (waiter !== undefined) enqueue(state, waiter)
      continue
    }
    const scope = waiter?.scope ?? ''
    const pausedMs = scope === '' ? 0 : pauseOf(state, scope, nowMs)
    if (pausedMs > 0) {
      cancel(state, owner, id)
      confirmed.paused.push({ id, ms: pausedMs })
    } else if (state.recovering || pauseOf(state, '', nowMs) > 0 || isOver(state, rules, call, nowMs)) {
      unassign(state, id, call)
    } else {
      state.waiters.delete(id)
      dropAssigned(state, owner, id)
      addCall(state, id, { ...call, phase: 'held', untilMs: nowMs + rules.heldMs })
      confirmed.held.push(id)
    }
  }
  return confirmed
}

function isOver(state: UpstreamState, rules: BookingRules, call: CallRecord, nowMs: number): boolean {
  return rules.limits.some((limit) => {
    const used = state.used.get(limit.key) ?? 0
    return used > allowed(state, limit, nowMs) && used > (call.units[limit.key] ?? 0)
  })
}

function dropAssigned(state: UpstreamState, owner: string, id: string): void {
  const ids = state.assigned.get(owner)
  ids?.delete(id)
  if (ids?.size === 0) state.assigned.delete(owner)
}

export function addAssigned(state: UpstreamState, { id, owner }: WaiterRecord): void {
  state.assigned.set(owner, (state.assigned.get(owner) ?? new Set()).add(id))
}

/** Takes a waiter out of the queue until its process exchanges again. */
export function passOver(state: UpstreamState, waiter: WaiterRecord): void {
  dequeue(state, waiter)
  addAssigned(state, waiter)
}

/** Frees a place that was not confirmed in time. Its waiter is passed over until its process exchanges again. */
export function lapse(state: UpstreamState, id: string, call: CallRecord): void {
  const waiter = state.waiters.get(id)
  state.calls.delete(id)
  unspend(state, call.units)
  if (waiter === undefined) dropAssigned(state, call.owner, id)
  else refundService(state, waiter.tenant, waiter.charge)
}

/** Removes the waiters of a process that is gone. It confirmed nothing, so nothing was sent on their places. */
export function forgetAssigned(state: UpstreamState, owner: string): void {
  for (const id of state.assigned.get(owner) ?? []) {
    const call = state.calls.get(id)
    if (call !== undefined) lapse(state, id, call)
    state.waiters.delete(id)
  }
  state.assigned.delete(owner)
}

/** Puts an assigned waiter back to its old position in the queue. */
export function unassign(state: UpstreamState, id: string, call: CallRecord): void {
  const waiter = state.waiters.get(id)
  state.calls.delete(id)
  dropAssigned(state, call.owner, id)
  unspend(state, call.units)
  if (waiter === undefined) return
  refundService(state, waiter.tenant, waiter.charge)
  enqueue(state, waiter)
}

/** Removes a waiter, or returns a place on which nothing was written. Answered calls stay: they did use their units. */
export function cancel(state: UpstreamState, owner: string, id: string): StepResult {
  const waiter = state.waiters.get(id)
  const call = state.calls.get(id)
  if ((waiter ?? call)?.owner !== owner) return { is: 'gone' }
  if (call?.phase === 'answered') return { is: 'no' }
  if (waiter !== undefined) {
    // A waiter that was passed over is in no queue and has no place.
    if (!dequeue(state, waiter) && call !== undefined) refundService(state, waiter.tenant, waiter.charge)
    state.waiters.delete(id)
  }
  if (call !== undefined) {
    unspend(state, call.units)
    state.calls.delete(id)
  }
  dropAssigned(state, owner, id)
  return { is: 'ok' }
}

/** Moves the units of a call from its own record to the groups that its owner frees a period later. */
export function answered(
  state: UpstreamState,
  rules: BookingRules,
  owner: string,
  { id, ticks }: StepOf<'answered'>,
  nowMs: number,
): StepResult {
  const call = state.calls.get(id)
  if (call === undefined || call.owner !== owner) return { is: 'gone' }
  if (call.phase !== 'held') return { is: call.phase === 'answered' ? 'ok' : 'gone' }
  const kept: Record<string, number> = {}
  const keptTicks: Record<string, string> = {}
  for (const key in call.units) {
    const units = call.units[key]!
    const limit = limitOf(rules, key)
    const tick = ticks[key]
    // Units of a limit that the policy no longer has are freed at once.
    if (limit === undefined || (limit.periodMs > 0 && tick === undefined)) addUnits(state.used, key, -units)
    else kept[key] = units
    if (limit && limit.periodMs > 0 && tick !== undefined) {
      addToGroup(state.groups, owner, key, tick, units)
      noteAnswered(state, limit, units, nowMs)
      keptTicks[key] = tick
    }
  }
  call.phase = 'answered'
  call.units = kept
  call.ticks = keptTicks
  return { is: 'ok' }
}

function limitOf({ limits }: BookingRules, key: string): BookedLimit | undefined {
  for (const limit of limits) if (limit.key === key) return limit
  return undefined
}

/** Returns what an answered call still occupies itself: its part of what is in flight. */
export function releaseAnswered(state: UpstreamState, call: CallRecord): void {
  for (const key in call.units) if (call.ticks[key] === undefined) addUnits(state.used, key, -call.units[key]!)
}

/** Ends a call: frees what was in flight and corrects its cost. */
export function done(
  state: UpstreamState,
  rules: BookingRules,
  owner: string,
  { id, units: actual, ticks }: StepOf<'done'>,
  nowMs: number,
): StepResult {
  const call = state.calls.get(id)
  if (call === undefined || call.owner !== owner || call.phase !== 'answered') return { is: 'gone' }
  releaseAnswered(state, call)
  for (const limit of actual === undefined ? [] : rules.limits) {
    const { key, periodMs } = limit
    const units = actual?.[key]
    if (units === undefined || periodMs === 0) continue
    settle(state, owner, limit, units - (call.units[key] ?? 0), call.ticks[key], ticks[key], nowMs)
  }
  state.calls.delete(id)
  return { is: 'ok' }
}

/**
 * If a call cost less, the rest is returned if its group is still there; if it cost more, that counts there, or from
 * now on.
 */
function settle(
  state: UpstreamState,
  owner: string,
  limit: BookedLimit,
  difference: number,
  tick: string | undefined,
  nowTick: string | undefined,
  nowMs: number,
): void {
  const { key } = limit
  const kept = tick === undefined ? undefined : unitsIn(state.groups, owner, key, tick)
  if (tick !== undefined && kept !== undefined) changeGroup(state, owner, key, tick, Math.max(difference, -kept))
  else if (difference > 0 && nowTick !== undefined) {
    addToGroup(state.groups, owner, key, nowTick, difference)
    addUnits(state.used, key, difference)
    noteAnswered(state, limit, difference, nowMs)
  }
}

/** Corrects what a group has taken. */
function changeGroup(state: UpstreamState, owner: string, limit: string, tick: string, change: number): void {
  addToGroup(state.groups, owner, limit, tick, change)
  addUnits(state.used, limit, change)
  if (change > 0) noteUndated(state, limit, change)
  else forgetAnswered(state, limit, -change, 'newest')
}

/** Returns the units of a group, once. */
export function free(state: UpstreamState, owner: string, { limit, tick }: StepOf<'free'>): StepResult {
  const units = unitsIn(state.groups, owner, limit, tick)
  if (units === undefined) return { is: 'gone' }
  addToGroup(state.groups, owner, limit, tick, -units)
  addUnits(state.used, limit, -units)
  forgetAnswered(state, limit, units, 'oldest')
  return { is: 'ok' }
}

/** Records what a process knows to be taken. */
export function register(
  state: UpstreamState,
  rules: BookingRules,
  owner: string,
  { calls, groups }: RegisterStep,
  confirmed: readonly string[],
  nowMs: number,
): StepResult {
  const registered = new Set([...calls.map(({ id }) => id), ...confirmed])
  for (const [id, call] of state.calls) if (call.owner === owner && !registered.has(id)) drop(state, id, call)
  const kept = new Set(groups.map(groupName))
  for (const group of [...groupsOf(state.groups, owner)])
    if (!kept.has(groupName(group))) changeGroup(state, owner, group.limit, group.tick, -group.units)
  for (const { id, units, ticks } of calls) {
    const before = state.calls.get(id)
    if (before !== undefined) drop(state, id, before)
    const named: Record<string, number> = {}
    for (const [key, taken] of Object.entries(clampUnits(rules.limits, units))) {
      const isInFlight = rules.limits.some((limit) => limit.key === key && limit.periodMs === 0)
      // Of an answered call only what is in flight is its own; the rest is in groups.
      if (ticks !== undefined && !isInFlight && ticks[key] === undefined) continue
      named[key] = taken
      if (ticks === undefined || isInFlight) addUnits(state.used, key, taken)
    }
    const phase = ticks === undefined ? 'held' : 'answered'
    const keptTicks = Object.fromEntries(Object.entries(ticks ?? {}).filter(([key]) => isPeriod(rules, key)))
    addCall(state, id, { owner, phase, untilMs: nowMs + rules.heldMs, units: named, ticks: keptTicks })
  }
  for (const { limit, tick, units } of groups) {
    changeGroup(state, owner, limit, tick, units - (unitsIn(state.groups, owner, limit, tick) ?? 0))
  }
  return { is: 'ok' }
}

/** Names of limits have no spaces. */
const groupName = ({ limit, tick }: { readonly limit: string; readonly tick: string }): string => `${limit} ${tick}`

/** Removes a call in any state, and frees the units that are its own. */
function drop(state: UpstreamState, id: string, call: CallRecord): void {
  if (call.phase === 'answered') releaseAnswered(state, call)
  else unspend(state, call.units)
  state.calls.delete(id)
  state.waiters.delete(id)
  dropAssigned(state, call.owner, id)
}

const isPeriod = (rules: BookingRules, key: string): boolean =>
  rules.limits.some((limit) => limit.key === key && limit.periodMs > 0)
