import { backoffMs } from '../core/backoff.ts'
import {
  checkFunction,
  checkOptionNames,
  checkShare,
  checkWhole,
  durationFrom,
  withoutUndefined,
} from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { CircuitOptions } from './circuit.ts'
import type { SavedBreaker } from './saved-breaker.ts'
import { anyOf, failureRate, failuresInARow, type RateLimit, type Strategy, slowCallRate } from './strategy.ts'

/** What a rate is measured over. */
export interface RateOptions {
  /** From which share of the calls on it opens, above 0 and up to 1. */
  readonly ratio: number
  /** The length of the sliding window. */
  readonly window: Duration
  /** With fewer calls in the window it does not open. */
  readonly minCalls: number
}

export interface BreakerOptions {
  /** Its name in events, metrics and errors. */
  readonly name?: string
  /** Opens after so many failures in a row. 5 by default, unless another strategy is chosen. */
  readonly failures?: number
  /** Opens when too large a share of the calls fails. By default half of at least 20 calls within 10 s. */
  readonly failureRate?: Partial<RateOptions>
  /**
   * Opens when too large a share of the calls takes `slow` or longer. By default half of at least 20 calls within 10 s.
   */
  readonly slowCallRate?: Partial<RateOptions> & { readonly slow: Duration }
  /** How long it stays open before a probe is made. 60 s by default. */
  readonly cooldown?: Duration
  /**
   * Each time that it opens again without having closed, the cooldown doubles up to this. By default it does not grow.
   */
  readonly maxCooldown?: Duration
  /** Which share of the cooldown is random, so that replicas do not probe at the same moment. 0 by default. */
  readonly cooldownJitter?: number
  /** How many probes are made at a time when half-open; it closes once as many have succeeded. 1 by default. */
  readonly probes?: number
  /** A probe that has not settled after this time has failed. 30 s by default. */
  readonly probeTimeout?: Duration
  /** Whether an error is a failure of what is called. By default every error is; a 404 should not be. */
  readonly isFailure?: (error: unknown) => boolean
  /**
   * Whether a result is a failure of what was called, such as a response with status 503. It counts as one, and reaches
   * the caller all the same. By default none is.
   */
  readonly isFailedResult?: (result: unknown) => boolean
  /** What `save()` of an earlier one returned, such as that of the process before. */
  readonly saved?: SavedBreaker
  readonly clock?: Clock
  /** A number from 0 to 1, for the jitter. */
  readonly random?: () => number
}

export interface ResolvedBreakerOptions {
  readonly name: string
  readonly isFailure: ((error: unknown) => boolean) | undefined
  readonly isFailedResult: ((result: unknown) => boolean) | undefined
  readonly clock: Clock
  /** Makes what the state machine of one breaker needs; each has its own strategy. */
  readonly circuit: () => Omit<CircuitOptions, 'onChange'> & { readonly strategy: Strategy }
}

const rateDefaults: RateOptions = Object.freeze({ ratio: 0.5, window: 10_000, minCalls: 20 })
const defaults = Object.freeze({ name: 'default', failures: 5, cooldown: '1m', probes: 1, probeTimeout: '30s' })

const rateNames = Object.keys(rateDefaults)
export const breakerOptionNames: readonly string[] = [
  ...['name', 'failures', 'failureRate', 'slowCallRate', 'cooldown', 'maxCooldown', 'cooldownJitter', 'probes'],
  ...['probeTimeout', 'isFailure', 'isFailedResult', 'saved', 'clock', 'random'],
]

/** Checks the options and fills in the defaults, once for all breakers that are made from them. */
export function resolveBreakerOptions(options: BreakerOptions, owner = 'createBreaker'): ResolvedBreakerOptions {
  const { name, cooldown, probes, probeTimeout } = { ...defaults, ...withoutUndefined(options) }
  const { maxCooldown = cooldown, cooldownJitter = 0, isFailure, isFailedResult, random = Math.random } = options
  if (typeof name !== 'string' || name === '')
    throw invalidOption(`${owner}.name`, name, 'use a text such as "model-a"')
  const cooldownMs = durationFrom(1, `${owner}.cooldown`, cooldown)
  const maxCooldownMs = durationFrom(cooldownMs, `${owner}.maxCooldown`, maxCooldown)
  if (cooldownJitter !== 0) checkShare(`${owner}.cooldownJitter`, cooldownJitter)
  checkWhole(`${owner}.probes`, probes, 1, 'probes')
  const probeMs = durationFrom(1, `${owner}.probeTimeout`, probeTimeout)
  checkFunction(`${owner}.isFailure`, isFailure)
  checkFunction(`${owner}.isFailedResult`, isFailedResult)
  checkFunction(`${owner}.random`, random)
  const strategy = strategyOf(options, owner)
  const growth = { baseMs: cooldownMs, maxMs: maxCooldownMs, jitter: cooldownJitter }
  return {
    name,
    isFailure,
    isFailedResult,
    clock: options.clock ?? systemClock(),
    circuit: () => ({
      strategy: strategy(),
      cooldownMs: (openings) => backoffMs(openings - 1, random, growth),
      probes,
      probeMs,
    }),
  }
}

function strategyOf(options: BreakerOptions, owner: string): () => Strategy {
  const makers: (() => Strategy)[] = []
  if (options.failureRate !== undefined) {
    const rate = rateOf(options.failureRate, `${owner}.failureRate`, rateNames)
    makers.push(() => failureRate(rate))
  }
  if (options.slowCallRate !== undefined) {
    const rate = rateOf(options.slowCallRate, `${owner}.slowCallRate`, [...rateNames, 'slow'])
    const slowMs = durationFrom(1, `${owner}.slowCallRate.slow`, options.slowCallRate.slow)
    makers.push(() => slowCallRate({ ...rate, slowMs }))
  }
  if (makers.length === 0 || options.failures !== undefined) {
    const { failures = defaults.failures } = options
    checkWhole(`${owner}.failures`, failures, 1, 'failures')
    makers.push(() => failuresInARow(failures))
  }
  return () => anyOf(makers.map((make) => make()) as [Strategy, ...Strategy[]])
}

function rateOf(given: Partial<RateOptions>, owner: string, known: readonly string[]): RateLimit {
  checkOptionNames(owner, given, known)
  const { ratio, window, minCalls } = { ...rateDefaults, ...withoutUndefined(given) }
  checkShare(`${owner}.ratio`, ratio)
  const windowMs = durationFrom(1, `${owner}.window`, window)
  checkWhole(`${owner}.minCalls`, minCalls, 1, 'calls')
  return { ratio, windowMs, minCalls }
}
