import { goneUs, statedUs } from '../constants.ts'
import type { Exchange, ExchangeReply, RegisterStep, Step, StepResult } from '../messages.ts'
import { book, cancel, giveTurns, reserveDue } from './book.ts'
import { closedUs, type Decider, deciderOf, type Exchanging, usedOf } from './capacity.ts'
import { giveBack, grantsOf, register, report, voidUnreceived } from './grants.ts'
import { limitOf, pacedUntilUs } from './log.ts'
import { forgetPauses, pause, pausedMs, takeRetry, widen } from './pauses.ts'
import type { OwnerRecord, UpstreamState } from './state.ts'
import { keepLogs, limitsInForce } from './state.ts'

/** What is added where the state is on a server: its clock jumps, its answers get lost, and so does the state. */
export interface Sharing {
  /** Advances shared time. Returns whether it was set back, so that what was entered before counts too long. */
  advance(state: UpstreamState, asked: Exchange, rawUs: number): boolean
  /** Shared time was set back. */
  cutAll(by: Decider): void
  register: typeof register
  /** Copies of logs, which processes keep in case the state is lost. */
  copyLogs(by: Decider): ExchangeReply['mirrors']
}

const inProcess: Sharing = {
  advance({ time }, _, rawUs) {
    time.timeUs = Math.max(time.timeUs, rawUs)
    time.verifiedUs = time.timeUs
    return false
  },
  cutAll: () => {},
  register,
  copyLogs: () => [],
}

/**
 * One exchange: all steps of one process in one instant, then turns for those who wait, in order. The Redis script does
 * the same on the same state, with what `Sharing` adds; a test runs random histories through both and compares.
 *
 * A call is granted if the units of all calls that can have arrived within the period, plus its own, are at most the
 * amount. Of all calls that arrive in one period, one is decided last; all others were counted then. So there are never
 * more, in whatever order they arrive.
 */
export function exchange(
  state: UpstreamState,
  asked: Exchange,
  rawUs: number,
  sharing: Sharing = inProcess,
): ExchangeReply {
  const wasSetBack = sharing.advance(state, asked, rawUs)
  const before = state.owners.get(asked.owner)
  const isRegistering = asked.steps[0]?.op === 'register'
  const isKnown = asked.marker === state.marker && before?.isGone === false
  if ((!isKnown && !isRegistering) || asked.no <= (before?.no ?? 0)) return replyOf(state, asked, { known: false })
  const owner = seeOwner(state, asked)
  const limits = limitsInForce(state)
  keepLogs(state, limits)
  const decider = deciderOf(state, asked.rules, limits)
  const by: Exchanging = { ...decider, asked, owner, own: grantsOf(state, asked.owner), grants: [], paused: [] }
  if (wasSetBack) sharing.cutAll(by)
  if (state.time.verifiedUs >= state.widenedUntilUs) state.widenedUs = 0
  dropGone(by)
  const voided = voidUnreceived(by)
  reserveDue(by)
  const isNew = before === undefined || before.isGone
  const results = asked.steps.map((step) =>
    step.op === 'register' ? sharing.register(by, step, isNew) : run(by, step),
  )
  // Its calls that were voided come first; they are booked again at once.
  const askInUs = voided.length > 0 ? 0 : giveTurns(by)
  if (owner.hasLeft && owner.granted <= owner.ended) {
    state.owners.delete(asked.owner)
    state.grants.delete(asked.owner)
  }
  forgetPauses(state)
  const mirrors = asked.mirror ? sharing.copyLogs(by) : []
  return replyOf(state, asked, { known: true, results, grants: by.grants, paused: by.paused, voided, askInUs, mirrors })
}

/** The process is here, and states its limits. */
function seeOwner({ owners, time }: UpstreamState, { owner, no, ended, rules }: Exchange): OwnerRecord {
  const record = owners.get(owner) ?? { granted: ended, ended, hasLeft: false }
  const seen = {
    seenUs: time.verifiedUs,
    no,
    ended: Math.max(record.ended, ended),
    limits: rules.limits,
    isGone: false,
  }
  const next = { ...record, ...seen }
  owners.set(owner, next)
  return next
}

function run(by: Exchanging, step: Exclude<Step, RegisterStep>): StepResult {
  switch (step.op) {
    case 'book':
      return book(by, step)
    case 'cancel':
      return cancel(by, step.id)
    case 'back':
      return giveBack(by, step.grant)
    case 'report':
      return report(by, step)
    case 'pause':
      return pause(by, step)
    case 'refusedWithRoom':
      return widen(by)
    case 'retry':
      return takeRetry(by)
    case 'leave':
      by.owner.hasLeft = true
      return { is: 'ok' }
  }
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
