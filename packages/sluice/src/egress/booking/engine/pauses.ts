import { writeByMs } from '../constants.ts'
import type { PauseStep, StepResult } from '../messages.ts'
import type { Decider } from './capacity.ts'
import type { UpstreamState } from './state.ts'

const firstMs = 1000
const longestUnsaidMs = 60_000
/** Vendors state whole seconds: answers to calls that were in flight differ by less than this. */
const grainUs = 1_000_000

/**
 * Pauses a scope; the empty scope is the whole upstream. Calls that were in flight when the pause began belong to the
 * same event: they neither lengthen it, unless the vendor asks for clearly more, nor count as another refusal.
 */
export function pause(by: Decider, step: PauseStep): StepResult {
  const { state } = by
  if (isLogged(by, step)) return { is: 'no' }
  const nowUs = state.time.verifiedUs
  const before = state.pauses.get(step.scope)
  const isSameEvent = before !== undefined && nowUs - step.sentAgoMs * 1000 <= before.startedUs
  const isFollowing = before !== undefined && nowUs < before.untilUs + longestUnsaidMs * 1000
  if (isSameEvent && (step.ms < 0 || nowUs + step.ms * 1000 <= before.untilUs + grainUs)) {
    if (step.refused) before.refused = true
    return { is: 'no' }
  }
  const level = isSameEvent ? before.level : isFollowing && before.refused ? before.level + 1 : 0
  const unsaid = Math.min(longestUnsaidMs, firstMs * 2 ** Math.min(level, 10))
  // Never shorter than that: jitter only adds.
  const wanted = step.ms >= 0 ? step.ms : Math.min(longestUnsaidMs, Math.floor(unsaid + (unsaid / 2) * step.chance))
  const untilUs = Math.max(before?.untilUs ?? 0, nowUs + Math.min(step.maxMs, wanted) * 1000)
  const isRefused = step.refused || (before !== undefined && nowUs < before.untilUs && before.refused)
  const startedUs = isSameEvent ? before.startedUs : nowUs
  state.pauses.set(step.scope, { startedUs, untilUs, level, refused: isRefused })
  return { is: 'paused', ms: Math.ceil((untilUs - nowUs) / 1000) }
}

/**
 * Whether a success that reports nothing left tells only what a log knows: it was full after the call was granted, and
 * the period is as long as the vendor says, in whole seconds. The log counts until each call's own period is over.
 */
function isLogged({ state, logged }: Decider, { refused, scope, ms, sentAgoMs }: PauseStep): boolean {
  const grantedUs = Math.max(1, state.time.verifiedUs - (sentAgoMs + writeByMs) * 1000)
  const isKnown = logged.some(
    ({ limit, log }) => log.fullUs >= grantedUs && ms <= Math.ceil(limit.periodMs / 1000) * 1000,
  )
  return !refused && scope === '' && isKnown
}

/** How much longer a scope is paused; 0 when it is not. */
export function pausedMs({ pauses, time }: UpstreamState, scope: string): number {
  return Math.max(0, Math.ceil(((pauses.get(scope)?.untilUs ?? 0) - time.verifiedUs) / 1000))
}

/** Removes pauses that ended long ago; they no longer change any decision. */
export function forgetPauses({ pauses, time }: UpstreamState): void {
  for (const [scope, { untilUs }] of pauses) {
    if (time.verifiedUs > untilUs + longestUnsaidMs * 1000) pauses.delete(scope)
  }
}

const mostTokens = 100_000

/** One retry of the fleet's budget, charged when it is decided. */
export function takeRetry({ state, rules }: Decider): StepResult {
  const nowUs = state.time.verifiedUs
  const passedUs = Math.max(0, nowUs - state.retryUs)
  state.retryUs = nowUs
  state.retryTokens = Math.min(mostTokens, state.retryTokens + Math.floor((rules.retryPerSecond * passedUs) / 1e6))
  if (state.retryTokens < 1000) return { is: 'no' }
  state.retryTokens -= 1000
  return { is: 'ok' }
}

/** What each first try adds to the budget. */
export function payRetry({ state, rules }: Decider): void {
  state.retryTokens = Math.min(mostTokens, state.retryTokens + rules.retryPerCall)
}

const widenedForUs = 600_000_000
/** Calls in flight that are refused together count once. */
const sameRefusalUs = 1_000_000

/**
 * The vendor refused although the log had room: from now on requests count as longer on their way, twice as long with
 * each refusal, at most a quarter of the shortest period.
 */
export function widen({ state, logged }: Decider): StepResult {
  const nowUs = state.time.verifiedUs
  if (logged.length === 0) return { is: 'no' }
  if (state.widenedUs > 0 && nowUs < state.widenedUntilUs - widenedForUs + sameRefusalUs) return { is: 'no' }
  const shortestUs = Math.min(...logged.map(({ limit }) => limit.periodMs * 1000))
  const before = nowUs < state.widenedUntilUs ? state.widenedUs : 0
  state.widenedUs = Math.min(Math.floor(shortestUs / 4), Math.max(Math.floor(shortestUs / 20), before * 2))
  state.widenedUntilUs = nowUs + widenedForUs
  return { is: 'ok' }
}
