import { addUnits } from './add-units.ts'
import { noteAnswered } from './answered-times.ts'
import {
  addAssigned,
  answered,
  cancel,
  confirmAll,
  done,
  forgetAssigned,
  free,
  lapse,
  passOver,
  register,
  releaseAnswered,
} from './calls.ts'
import { chargeOf, clampUnits, fits, spend, waitOf } from './capacity.ts'
import { addToGroup, groupsOf } from './groups.ts'
import { bookInstants, returnInstant } from './instants.ts'
import type { Adopted, BookingRules, BookStep, Exchange, ExchangeReply, Step, StepResult } from './messages.ts'
import { forgetPauses, pause, pauseOf, payRetry, takeRetry } from './pauses.ts'
import { aheadOf, dequeue, enqueue, nextTenant, serve } from './queue.ts'
import {
  addCall,
  type CallRecord,
  confirmMs,
  leapMs,
  leftMs,
  noTicks,
  rampMs,
  silentMs,
  type UpstreamState,
} from './state.ts'
import type { WaiterRecord } from './tenant-queue.ts'

/** How often waiters are looked at while the rate rises. */
const rampStepMs = 100

/**
 * One exchange: all steps of one process at one instant, then places for waiters, in order. The Redis script does the
 * same on the same state; a test runs random histories through both and compares.
 *
 * Time decides only about dead processes and pauses. That a period has passed is always measured by a process, which
 * then sends `free`.
 */
export function exchange(state: UpstreamState, asked: Exchange, serverMs: number): ExchangeReply {
  const nowMs = advance(state, asked, serverMs)
  const known = state.owners.has(asked.owner)
  state.owners.set(asked.owner, nowMs)
  const { held, paused } = confirmAll(state, asked.rules, asked.owner, nowMs)
  const confirmed = [...held]
  const results = asked.steps.map((step) => run(state, asked, step, confirmed, nowMs))
  const adopted = adopt(state, asked, nowMs)
  const notify = new Map<string, string[]>()
  assign(state, asked, nowMs, (id, owner) => {
    if (owner === asked.owner) held.push(id)
    else notify.set(owner, [...(notify.get(owner) ?? []), id])
  })
  const pausedUntil = state.pauses.get('')?.untilMs ?? 0
  forgetPauses(state, nowMs)
  return {
    nowMs,
    epoch: state.epoch,
    recovering: state.recovering,
    known,
    results,
    held,
    paused,
    adopted,
    wakeMs: wakeMs(state, pausedUntil, nowMs),
    pausedMs: Math.max(0, pausedUntil - nowMs),
    depth: state.waiting,
    processes: state.owners.size,
    used: asked.rules.limits.map(({ key }) => state.used.get(key) ?? 0),
    notify: Array.from(notify, ([owner, ids]) => ({ owner, ids })),
  }
}

/**
 * The time used for decisions: the server's, minus how far its clock jumped ahead of what this process measured since
 * its last exchange. Without that, a jump would make every process look silent. It never runs backwards.
 */
function advance(state: UpstreamState, { owner, sinceMs }: Exchange, serverMs: number): number {
  const seenMs = state.owners.get(owner)
  if (seenMs !== undefined && seenMs !== leftMs && sinceMs >= 0) {
    const leap = serverMs - state.skewMs - seenMs - Math.ceil(sinceMs)
    if (leap > leapMs) state.skewMs += leap
  }
  if (serverMs - state.skewMs < state.lastMs) state.skewMs = serverMs - state.lastMs
  state.lastMs = serverMs - state.skewMs
  return state.lastMs
}

function run(
  state: UpstreamState,
  { owner, rules }: Exchange,
  step: Step,
  confirmed: readonly string[],
  nowMs: number,
): StepResult {
  switch (step.op) {
    case 'book':
      return book(state, { owner, rules }, step, nowMs)
    case 'cancel':
      return cancel(state, owner, step.id)
    case 'answered':
      return answered(state, rules, owner, step, nowMs)
    case 'done':
      return done(state, rules, owner, step, nowMs)
    case 'free':
      return free(state, owner, step)
    case 'pause':
      return pause(state, step, nowMs)
    case 'retry':
      return takeRetry(state, rules, nowMs)
    case 'register':
      return register(state, rules, owner, step, confirmed, nowMs)
    case 'instants':
      return bookInstants(state, rules, owner, step, nowMs)
    case 'return':
      return returnInstant(state, step, nowMs)
    case 'recovered':
      if (step.epoch === state.epoch) state.recovering = false
      return { is: 'ok' }
    case 'leave':
      state.owners.set(owner, leftMs)
      return { is: 'ok' }
  }
}

function book(
  state: UpstreamState,
  { owner, rules }: Pick<Exchange, 'owner' | 'rules'>,
  step: BookStep,
  nowMs: number,
): StepResult {
  const call = state.calls.get(step.id)
  if (call !== undefined) return call.phase === 'assigned' ? { is: 'queued', ahead: 0, earliestMs: 0 } : { is: 'held' }
  const known = state.waiters.get(step.id)
  if (known !== undefined) {
    const ahead = aheadOf(state, known.tenant, state.tenants.get(known.tenant)?.queue.rankOf(known) ?? 0)
    return { is: 'queued', ahead, earliestMs: waitOf(state, rules, known.units, ahead, nowMs).likely }
  }
  const pausedMs = step.scope === '' ? 0 : pauseOf(state, step.scope, nowMs)
  if (pausedMs > 0) return { is: 'paused', ms: pausedMs }
  const units = clampUnits(rules.limits, step.units)
  const charge = chargeOf(rules.limits, units, step.weight)
  if (step.first) payRetry(state, rules)
  if (state.waiting === 0 && !state.recovering && fits(state, rules, units, nowMs)) {
    serve(state, step.tenant, charge)
    spend(state, units)
    addCall(state, step.id, { owner, phase: 'held', untilMs: nowMs + rules.heldMs, units, ticks: noTicks })
    return { is: 'held' }
  }
  const order = nowMs - Math.floor(step.waitedMs) - step.priorityMs
  const waiter: WaiterRecord = {
    id: step.id,
    owner,
    tenant: step.tenant,
    scope: step.scope,
    order,
    seq: ++state.seq,
    units,
    charge,
  }
  const queue = state.tenants.get(step.tenant)?.queue
  const ahead = aheadOf(state, step.tenant, queue?.rankOf(waiter) ?? 0)
  const { least, likely } = waitOf(state, rules, units, ahead, nowMs)
  if (state.waiting >= rules.maxQueue || (queue?.length ?? 0) >= rules.maxQueuePerTenant)
    return { is: 'full', ahead, earliestMs: likely }
  if (least > step.maxWaitMs) return { is: 'too-long', ahead, earliestMs: likely }
  enqueue(state, waiter)
  return { is: 'queued', ahead, earliestMs: likely }
}

/**
 * Looks at places whose time is up. One that was assigned and not confirmed is free for the next waiter. One that is
 * held by a process that is gone becomes an orphan, as its request has surely arrived. One whose process is alive
 * stays: its process will free it.
 */
function expire(state: UpstreamState, rules: BookingRules, nowMs: number, orphaned: Map<string, number>): void {
  if (nowMs < state.nextExpiryMs) return
  const expired = [...state.calls].filter(([, { untilMs }]) => untilMs <= nowMs)
  expired.sort(([a, { untilMs: x }], [b, { untilMs: y }]) => x - y || (a < b ? -1 : 1))
  for (const [id, call] of expired) {
    if (call.phase === 'assigned') lapse(state, id, call)
    else if (state.owners.has(call.owner)) call.untilMs = nowMs + rules.heldMs
    else {
      state.calls.delete(id)
      if (call.phase === 'answered') releaseAnswered(state, call)
      else orphan(state, rules, call, orphaned, nowMs)
    }
  }
  state.nextExpiryMs = Infinity
  for (const { untilMs } of state.calls.values()) state.nextExpiryMs = Math.min(state.nextExpiryMs, untilMs)
}

/** The units of a request whose process is gone count for one more period; it is no longer in flight. */
function orphan(
  state: UpstreamState,
  rules: BookingRules,
  call: CallRecord,
  orphaned: Map<string, number>,
  nowMs: number,
): void {
  for (const [key, units] of Object.entries(call.units)) {
    const limit = rules.limits.find((each) => each.key === key && each.periodMs > 0)
    if (limit === undefined) addUnits(state.used, key, -units)
    else {
      addUnits(orphaned, key, units)
      noteAnswered(state, limit, units, nowMs)
    }
  }
}

/**
 * What a process that is gone left behind is adopted by the process that exchanges now, which measures a period of its
 * own before it frees it: groups of answered calls at once, calls in flight when their requests have surely arrived.
 */
function adopt(state: UpstreamState, { owner: heir, rules }: Exchange, nowMs: number): readonly Adopted[] {
  const gone = [...state.owners].filter(([owner, seenMs]) => owner !== heir && nowMs - seenMs >= silentMs)
  const orphaned = new Map<string, number>()
  for (const [owner] of gone) {
    state.owners.delete(owner)
    state.instantsOf.delete(owner)
    forgetAssigned(state, owner)
  }
  for (const owner of gone.length > 0 ? state.groups.keys() : []) {
    if (state.owners.has(owner)) continue
    for (const { limit, units } of groupsOf(state.groups, owner)) addUnits(orphaned, limit, units)
    state.groups.delete(owner)
  }
  expire(state, rules, nowMs, orphaned)
  const tick = `adopted-${nowMs}`
  return [...orphaned]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([limit, units]) => {
      addToGroup(state.groups, heir, limit, tick, units)
      return { limit, tick, units }
    })
}

/** Gives places to waiters, in order, until the next one does not fit: no waiter is overtaken because it needs more. */
function assign(
  state: UpstreamState,
  { owner: asker, rules }: Exchange,
  nowMs: number,
  onAssigned: (id: string, owner: string) => void,
): void {
  if (state.recovering) return
  for (let next = nextTenant(state); next !== undefined; next = nextTenant(state)) {
    const waiter = next[1].queue.first!
    const seenMs = state.owners.get(waiter.owner)
    if (seenMs === undefined) {
      dequeue(state, waiter)
      state.waiters.delete(waiter.id)
      continue
    }
    if (nowMs - seenMs >= confirmMs) {
      passOver(state, waiter)
      continue
    }
    if (!fits(state, rules, waiter.units, nowMs)) return
    serve(state, waiter.tenant, waiter.charge)
    dequeue(state, waiter)
    spend(state, waiter.units)
    const isAsker = waiter.owner === asker
    if (isAsker) state.waiters.delete(waiter.id)
    else addAssigned(state, waiter)
    addCall(state, waiter.id, {
      owner: waiter.owner,
      phase: isAsker ? 'held' : 'assigned',
      untilMs: nowMs + (isAsker ? rules.heldMs : confirmMs),
      units: waiter.units,
      ticks: noTicks,
    })
    onAssigned(waiter.id, waiter.owner)
  }
}

/**
 * Waiters must be looked at when a pause ends and while the rate rises after it: then they can be served although
 * nothing was freed.
 */
function wakeMs(state: UpstreamState, pausedUntil: number, nowMs: number): number {
  if (state.waiting === 0 || pausedUntil === 0 || nowMs >= pausedUntil + rampMs) return -1
  return nowMs < pausedUntil ? pausedUntil - nowMs : rampStepMs
}
