import type { BookingRules, PauseStep, StepResult } from './messages.ts'
import type { UpstreamState } from './state.ts'

const firstMs = 1000
const longestUnsaidMs = 60_000
/** Vendors state whole seconds: answers to calls that were in flight differ by less than this. */
const grainMs = 1000

/**
 * Pauses a scope; the empty scope is the whole upstream. Calls that were in flight when the pause began belong to the
 * same event: they neither lengthen it, unless the vendor asks for clearly more, nor count as another refusal.
 */
export function pause(state: UpstreamState, step: PauseStep, nowMs: number): StepResult {
  const before = state.pauses.get(step.scope)
  const sentMs = nowMs - step.sentAgoMs
  const isSameEvent = before !== undefined && sentMs <= before.startedMs
  const isFollowing = before !== undefined && nowMs < before.untilMs + longestUnsaidMs
  if (isSameEvent && (step.ms < 0 || nowMs + step.ms <= before.untilMs + grainMs)) return { is: 'no' }
  const level = isSameEvent ? before.level : isFollowing ? before.level + 1 : 0
  const unsaid = Math.min(longestUnsaidMs, firstMs * 2 ** Math.min(level, 10))
  const wanted = step.ms >= 0 ? step.ms : Math.floor(unsaid / 2 + (unsaid / 2) * step.chance)
  const untilMs = Math.max(before?.untilMs ?? 0, nowMs + Math.min(step.maxMs, wanted))
  state.pauses.set(step.scope, { startedMs: isSameEvent ? before.startedMs : nowMs, untilMs, level })
  return { is: 'paused', ms: untilMs - nowMs }
}

/** How much longer a scope is paused; 0 or less when it is not. */
export function pauseOf(state: UpstreamState, scope: string, nowMs: number): number {
  return (state.pauses.get(scope)?.untilMs ?? 0) - nowMs
}

/** Removes pauses that ended long ago; they no longer change any decision. */
export function forgetPauses(state: UpstreamState, nowMs: number): void {
  for (const [scope, { untilMs }] of state.pauses) {
    if (nowMs > untilMs + longestUnsaidMs) state.pauses.delete(scope)
  }
}

const mostTokens = 100_000

/** One retry of the fleet's budget, charged when it is decided. */
export function takeRetry(state: UpstreamState, rules: BookingRules, nowMs: number): StepResult {
  const passedMs = Math.max(0, nowMs - state.retryMs)
  state.retryMs = nowMs
  state.retryTokens = Math.min(mostTokens, state.retryTokens + Math.floor((rules.retryPerSecond * passedMs) / 1000))
  if (state.retryTokens < 1000) return { is: 'no' }
  state.retryTokens -= 1000
  return { is: 'ok' }
}

/** What each first try adds to the budget. */
export function payRetry(state: UpstreamState, rules: BookingRules): void {
  state.retryTokens = Math.min(mostTokens, state.retryTokens + rules.retryPerCall)
}
