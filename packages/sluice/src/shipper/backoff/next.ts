import type { Capacity, FlushState } from './state.ts'

export interface BackoffRules {
  /** The delay at level 1. */
  readonly baseMs: number
  readonly factor: number
  readonly capMs: number
  readonly maxLevel: number
  /** After so many failures in a row the breaker is open until the next attempt is due. */
  readonly breakerFailures: number
  /** The part of a delay that is added at random, after the cap; 0 for none. */
  readonly jitter: number
  /** How long to wait when a server is not ready and does not state for how long. */
  readonly notReadyMs: number
  /** The longest wait that a server may ask for. */
  readonly maxRetryAfterMs: number
}

export const defaultBackoff: BackoffRules = Object.freeze({
  baseMs: 2000,
  factor: 2,
  capMs: 300_000,
  maxLevel: 10,
  breakerFailures: 10,
  jitter: 0,
  notReadyMs: 30_000,
  maxRetryAfterMs: 3_600_000,
})

/** The result of a capacity request or of sending a batch. */
export type Answer =
  | { readonly kind: 'ready'; readonly capacity: Capacity }
  | { readonly kind: 'not-ready'; readonly capacity: Capacity; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'success' }
  | { readonly kind: 'failure' }
  /** 429 or 503. */
  | { readonly kind: 'overloaded'; readonly retryAfterMs: number | undefined }

/** The delay of a level: 0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 seconds by default. */
export function delayOf(level: number, rules: BackoffRules): number {
  return level <= 0 ? 0 : Math.min(rules.capMs, rules.baseMs * rules.factor ** (level - 1))
}

/** The state after an answer. Everything about when to try again is decided here, and nowhere else. */
export function next(
  state: FlushState,
  answer: Answer,
  nowMs: number,
  rules: BackoffRules,
  random: number,
): FlushState {
  const after = (delayMs: number): number => nowMs + Math.round(delayMs * (1 + rules.jitter * random))
  switch (answer.kind) {
    case 'ready':
      return { ...state, lastCapacity: answer.capacity }
    case 'not-ready': {
      const delayMs = answer.retryAfterMs ?? rules.notReadyMs
      return {
        ...state,
        lastCapacity: answer.capacity,
        nextAttemptAfter: after(Math.min(delayMs, rules.maxRetryAfterMs)),
      }
    }
    case 'success':
      return {
        ...state,
        backoffLevel: Math.max(0, state.backoffLevel - 1),
        consecutiveFailures: 0,
        nextAttemptAfter: null,
        lastSuccessTime: nowMs,
      }
    case 'failure':
    case 'overloaded': {
      const backoffLevel = Math.min(rules.maxLevel, state.backoffLevel + 1)
      const delayMs = delayOf(backoffLevel, rules)
      const wanted =
        answer.kind === 'failure'
          ? delayMs
          : Math.max(Math.min(rules.capMs, 2 * delayMs), Math.min(answer.retryAfterMs ?? 0, rules.maxRetryAfterMs))
      return {
        ...state,
        backoffLevel,
        consecutiveFailures: state.consecutiveFailures + 1,
        nextAttemptAfter: after(wanted),
      }
    }
  }
}

/** How long to wait before the next attempt; 0 when one is allowed now. */
export function waitMs(state: FlushState, nowMs: number, rules: BackoffRules): number {
  if (state.nextAttemptAfter === null) return 0
  const left = state.nextAttemptAfter - nowMs
  // No rule makes a wait as long as this: the clock was set back since, so the stored time is useless.
  const longestMs = Math.max(rules.capMs, rules.maxRetryAfterMs, rules.notReadyMs) * (1 + rules.jitter)
  return left > longestMs ? 0 : Math.max(0, left)
}

export type BreakerState = 'closed' | 'open' | 'half-open'

/** The breaker has no state of its own: it follows from failures in a row and the timer. */
export function breakerOf(state: FlushState, nowMs: number, rules: BackoffRules): BreakerState {
  if (state.consecutiveFailures < rules.breakerFailures) return 'closed'
  return waitMs(state, nowMs, rules) > 0 ? 'open' : 'half-open'
}
