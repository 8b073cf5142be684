import type { BreakerState } from '../../breaker/circuit.ts'
import { backoffMs } from '../../core/backoff.ts'
import { checkOptionNames, durationFrom } from '../../core/check-options.ts'
import type { Duration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Capacity, FlushState } from './state.ts'

/** The options `backoff` of a shipper, in milliseconds. */
export interface BackoffRules {
  /** Level n waits `base * factor ** n`. */
  readonly baseMs: number
  readonly factor: number
  readonly maxMs: number
  readonly maxLevel: number
  /** After so many failures in a row the breaker is open until the next attempt is due. */
  readonly breakerFailures: number
  /** The part of a delay that is added at random, after the cap; shippers that fail together then retry apart. */
  readonly jitter: number
  /** How long to wait when a server is not ready and does not state for how long. */
  readonly notReadyMs: number
  /** The longest wait that a server may ask for. */
  readonly maxRetryAfterMs: number
}

export const defaultBackoff: BackoffRules = Object.freeze({
  baseMs: 1000,
  factor: 2,
  maxMs: 300_000,
  maxLevel: 10,
  breakerFailures: 10,
  jitter: 0.25,
  notReadyMs: 30_000,
  maxRetryAfterMs: 3_600_000,
})

/** The result of a capacity request or of sending a batch. */
export type Answer =
  | { readonly kind: 'ready'; readonly capacity: Capacity }
  | { readonly kind: 'not-ready'; readonly capacity: Capacity; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'success' }
  /** How many events were set aside since the server last accepted one; a batch may end with some of them. */
  | { readonly kind: 'refused'; readonly inRow: number }
  | { readonly kind: 'failure' }
  /** 429 or 503. */
  | { readonly kind: 'overloaded'; readonly retryAfterMs: number | undefined }

/** The delay of a level: 0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 seconds by default. */
export function delayOf(level: number, rules: BackoffRules): number {
  const { baseMs, factor, maxMs } = rules
  return level <= 0 ? 0 : backoffMs(level, () => 0, { baseMs, factor, maxMs, jitter: 0 })
}

/** The state after an answer. Everything about when to try again is decided here, and nowhere else. */
export function next(
  state: FlushState,
  answer: Answer,
  nowMs: number,
  rules: BackoffRules,
  random: number,
): FlushState {
  const spread = (delayMs: number): number => delayMs * (1 + rules.jitter * random)
  const after = (delayMs: number): Pick<FlushState, 'nextAttemptAfter' | 'waitingSince'> => ({
    nextAttemptAfter: nowMs + Math.round(delayMs),
    waitingSince: nowMs,
  })
  switch (answer.kind) {
    case 'ready':
      return { ...state, lastCapacity: answer.capacity }
    case 'not-ready': {
      const delayMs = requested(answer.retryAfterMs ?? rules.notReadyMs, rules, random)
      return { ...state, lastCapacity: answer.capacity, ...after(delayMs) }
    }
    case 'success':
      return {
        ...state,
        // A file written by hand, or with other rules, may be above the highest level.
        backoffLevel: Math.max(0, Math.min(rules.maxLevel, state.backoffLevel) - 1),
        consecutiveFailures: 0,
        nextAttemptAfter: null,
        waitingSince: undefined,
        lastSuccessTime: nowMs,
      }
    case 'refused':
      return { ...state, consecutiveRefusals: answer.inRow === 0 ? undefined : answer.inRow }
    case 'failure':
    case 'overloaded': {
      const backoffLevel = Math.min(rules.maxLevel, state.backoffLevel + 1)
      const delayMs = delayOf(backoffLevel, rules)
      const wanted =
        answer.kind === 'failure'
          ? spread(delayMs)
          : Math.max(spread(Math.min(rules.maxMs, 2 * delayMs)), requested(answer.retryAfterMs ?? 0, rules, random))
      return {
        ...state,
        backoffLevel,
        consecutiveFailures: state.consecutiveFailures + 1,
        ...after(wanted),
      }
    }
  }
}

/** A wait that the server asks for is not made shorter, unless it asks for more than the longest one. */
function requested(askedMs: number, { maxRetryAfterMs, jitter }: BackoffRules, random: number): number {
  return askedMs > maxRetryAfterMs
    ? maxRetryAfterMs * (1 - jitter * random)
    : Math.min(maxRetryAfterMs, askedMs * (1 + jitter * random))
}

/** How long to wait before the next attempt; 0 when one is allowed now. */
export function waitMs(state: FlushState, nowMs: number, rules: BackoffRules): number {
  if (state.nextAttemptAfter === null) return 0
  const { nextAttemptAfter, waitingSince = nowMs } = state
  // A clock that was set back must not lengthen the wait.
  const left = nextAttemptAfter - Math.max(nowMs, waitingSince)
  // No rule makes a wait as long as this: the clock was set back since, so the stored time is useless.
  const longestMs = Math.max(rules.maxMs, rules.maxRetryAfterMs, rules.notReadyMs) * (1 + rules.jitter)
  return left > longestMs ? 0 : Math.max(0, left)
}

/** The state by a clock that was set back since: its wait is as long as before, and begins now. */
export function afterSetBack(state: FlushState, nowMs: number): FlushState {
  const { nextAttemptAfter, waitingSince } = state
  if (nextAttemptAfter === null || waitingSince === undefined || waitingSince <= nowMs) return state
  return { ...state, nextAttemptAfter: nextAttemptAfter - waitingSince + nowMs, waitingSince: nowMs }
}

/** The breaker has no state of its own: it follows from failures in a row and the timer. */
export function breakerOf(state: FlushState, nowMs: number, rules: BackoffRules): BreakerState {
  if (state.consecutiveFailures < rules.breakerFailures) return 'closed'
  return waitMs(state, nowMs, rules) > 0 ? 'open' : 'half-open'
}

export interface BackoffOptions {
  /** Level n waits `base * factor ** n`, so the first wait is 2 s. 1 s by default. */
  readonly base?: Duration
  /** By how much each level waits longer. 2 by default. */
  readonly factor?: number
  /** The longest delay. 5 min by default. */
  readonly max?: Duration
  /** The highest level. 10 by default. */
  readonly maxLevel?: number
  /** After so many failures in a row the breaker is open until the next attempt is due. 10 by default. */
  readonly breakerFailures?: number
  /** The part of a delay that is added at random, after `max`. 0.25 by default. */
  readonly jitter?: number
  /** How long to wait when a server is not ready and does not state for how long. 30 s by default. */
  readonly notReady?: Duration
  /** The longest wait that a server may ask for. 1 h by default. */
  readonly maxRetryAfter?: Duration
}

const durations = ['base', 'max', 'notReady', 'maxRetryAfter'] as const
/** The other options, with the least and the largest value. */
const numbers = {
  factor: [1, 100],
  maxLevel: [0, Number.MAX_SAFE_INTEGER],
  breakerFailures: [0, Number.MAX_SAFE_INTEGER],
  jitter: [0, 1],
} as const

/** Checks the options and fills in the defaults. */
export function backoffRules(given: BackoffOptions): BackoffRules {
  checkOptionNames('createShipper.backoff', given, [...durations, ...Object.keys(numbers)])
  const rules: { -readonly [Name in keyof BackoffRules]: number } = { ...defaultBackoff }
  for (const name of durations) {
    const value = given[name]
    if (value !== undefined) rules[`${name}Ms`] = durationFrom(0, `createShipper.backoff.${name}`, value)
  }
  for (const [name, [least, most]] of Object.entries(numbers)) {
    const value = given[name as keyof typeof numbers]
    if (value === undefined) continue
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw invalidOption(`createShipper.backoff.${name}`, value, `use a number from ${least} to ${most}`)
    }
    rules[name as keyof typeof numbers] = value
  }
  return rules
}
