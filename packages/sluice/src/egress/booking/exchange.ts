import { book, cancel } from './book.ts'
import { closedUs, type Decider, usedOf } from './capacity.ts'
import { goneUs, holdUs, mostSilenceUs, statedUs } from './constants.ts'
import { giveBack, report, voidUnreceived } from './grants.ts'
import { type Limit, limitOf } from './limit.ts'
import { keepLogs, limitsInForce, limitsText, pacedUntilUs } from './limits.ts'
import { cutLog } from './log.ts'
import type { Exchange, ExchangeReply, Step, StepResult } from './messages.ts'
import { forgetPauses, pause, pausedMs, takeRetry, widen } from './pauses.ts'
import { register } from './register.ts'
import { advance } from './shared-time.ts'
import type { OwnerRecord, UpstreamState } from './state.ts'
import { giveTurns, reserveDue } from './turns.ts'

/**
 * One exchange: all steps of one process in one instant, then turns for those who wait, in order. The Redis script does
 * the same on the same state; a test runs random histories through both and compares.
 *
 * A call is granted if the units of all calls that can have arrived within the period, plus its own, are at most the
 * amount. Of all calls that arrive in one period, one is decided last; all others were counted then. So there are never
 * more, in whatever order they arrive.
 */
export function exchange(state: UpstreamState, asked: Exchange, rawUs: number): ExchangeReply {
  const wasSetBack = advance(state, asked, rawUs)
  const before = state.owners.get(asked.owner)
  const isRegistering = asked.steps[0]?.op === 'register'
  const isKnown = asked.marker === state.marker && before?.isGone === false
  if ((!isKnown && !isRegistering) || asked.no <= (before?.no ?? 0)) return replyOf(state, asked, { known: false })
  const owner = seeOwner(state, asked)
  const limits = limitsInForce(state)
  keepLogs(state, limits)
  const by: Decider = { state, limits, rules: asked.rules, reserved: new Map() }
  if (wasSetBack) cutAll(by)
  if (state.time.verifiedUs >= state.widenedUntilUs) state.widenedUs = 0
  dropGone(by)
  const voided = voidUnreceived(by, asked)
  reserveDue(by, asked.owner)
  const given = { grants: [] as ExchangeReply['grants'][number][], paused: [] as ExchangeReply['paused'][number][] }
  const isNew = before === undefined || before.isGone
  const results = asked.steps.map((step) => run(by, asked, step, given.grants, isNew))
  // Its calls that were voided come first; they are booked again at once.
  const askInUs = voided.length > 0 ? 0 : giveTurns(by, asked, given)
  if (owner.hasLeft && owner.granted <= owner.ended) forget(state, asked.owner)
  forgetPauses(state)
  return replyOf(state, asked, { known: true, results, ...given, voided, askInUs, mirrors: mirrorsOf(by, asked) })
}

/** The process is here, and states its limits. */
function seeOwner({ owners, time }: UpstreamState, { owner, no, ended, rules }: Exchange): OwnerRecord {
  const record = owners.get(owner) ?? { granted: ended, ended, hasLeft: false }
  const limits = limitsText(rules.limits)
  const seen = { seenUs: time.verifiedUs, no, ended: Math.max(record.ended, ended), limits, isGone: false }
  const next = { ...record, ...seen }
  owners.set(owner, next)
  return next
}

function run(
  by: Decider,
  asked: Exchange,
  step: Step,
  grants: ExchangeReply['grants'][number][],
  isNew: boolean,
): StepResult {
  const { state, rules, limits } = by
  switch (step.op) {
    case 'book':
      return book(by, asked, step, grants)
    case 'cancel':
      return cancel(state, asked.owner, step.id)
    case 'back':
      return giveBack(by, asked.owner, step.grant)
    case 'report':
      return report(by, asked.owner, step)
    case 'pause':
      return pause(by, step)
    case 'refusedWithRoom':
      return widen(state, limits)
    case 'retry':
      return takeRetry(state, rules)
    case 'register':
      return register(by, asked.owner, step, isNew)
    case 'leave':
      state.owners.get(asked.owner)!.hasLeft = true
      return { is: 'ok' }
  }
}

/** Shared time was set back: what was entered before counts too long. All calls were granted before now. */
function cutAll({ state, limits, rules }: Decider): void {
  const latestUs = Math.max(state.time.timeUs + holdUs + rules.arrivalMs * 1000, state.longUntilUs)
  for (const limit of limits) {
    const log = state.logs.get(limit.key)
    if (log) cutLog(log, limit, latestUs)
  }
  for (const own of state.grants.values())
    for (const record of own.values()) record.arrivesUs = Math.min(record.arrivesUs, latestUs)
}

/** Processes that were silent for long: their waiters go, and what they have in flight when it has surely ended. */
function dropGone({ state, rules }: Decider): void {
  for (const [name, owner] of state.owners) {
    const silentUs = state.time.verifiedUs - owner.seenUs
    // One that has left is silent until the last of its calls is over.
    const isEnding = owner.hasLeft && owner.granted > owner.ended && silentUs < rules.timeoutMs * 1000
    if (silentUs < goneUs || isEnding) continue
    if (!owner.isGone) {
      owner.isGone = true
      state.grants.delete(name)
      for (const { waiter } of state.due) if (waiter.owner === name) state.waiters.delete(waiter.id)
      state.due = state.due.filter(({ waiter }) => waiter.owner !== name)
    }
    const isOver = owner.granted <= owner.ended || silentUs >= rules.timeoutMs * 1000
    if (silentUs >= statedUs && isOver) state.owners.delete(name)
  }
}

/** A process that has left and has nothing in flight. */
function forget(state: UpstreamState, owner: string): void {
  state.owners.delete(owner)
  state.grants.delete(owner)
}

/** The logs of limits that are longer than the silence after a loss. */
function mirrorsOf({ state, limits, rules }: Decider, { mirror }: Exchange): ExchangeReply['mirrors'] {
  if (!mirror) return []
  const isLong = (limit: Limit): boolean => {
    const log = state.logs.get(limit.key)
    const lastsUs = holdUs + rules.arrivalMs * 1000 + limit.countedUs
    return log !== undefined && lastsUs > mostSilenceUs
  }
  return limits.filter(isLong).map((limit) => {
    const { entries, sinceUs } = state.logs.get(limit.key)!
    const { timeUs, verifiedUs } = state.time
    const completeUs = verifiedUs < pacedUntilUs(state.logs.get(limit.key)!, limit) ? Math.max(0, timeUs - sinceUs) : -1
    return { key: limit.key, completeUs, entries: entries.map(({ arrivesUs, units }) => [arrivesUs - timeUs, units]) }
  })
}

function replyOf(
  state: UpstreamState,
  { rules }: Exchange,
  given: { readonly known: boolean } & Partial<ExchangeReply>,
): ExchangeReply {
  const { time, logs, openUs } = state
  const leftMs = (untilUs: number): number => Math.max(0, Math.ceil((untilUs - time.verifiedUs) / 1000))
  const paced = rules.limits.flatMap(({ key, amount }) => {
    const log = given.known ? logs.get(key) : undefined
    return log ? [pacedUntilUs(log, limitOf(key, amount))] : []
  })
  return {
    marker: state.marker,
    timeUs: time.timeUs,
    verifiedUs: time.verifiedUs,
    epoch: time.epoch,
    offsetUs: time.offsetUs,
    lostUs: time.lostUs,
    results: [],
    grants: [],
    paused: [],
    voided: [],
    askInUs: closedUs(state) || -1,
    recoveringMs: leftMs(openUs),
    pacedMs: leftMs(Math.max(0, ...paced)),
    pausedMs: pausedMs(state, ''),
    widenedMs: Math.ceil(state.widenedUs / 1000),
    widenedForMs: state.widenedUs > 0 ? leftMs(state.widenedUntilUs) : 0,
    depth: state.queue.waiting + state.due.length,
    processes: Array.from(state.owners.values()).filter(({ isGone }) => !isGone).length,
    used: rules.limits.map((limit) => (given.known ? usedOf(state, limit) : 0)),
    mirrors: [],
    ...given,
  }
}
