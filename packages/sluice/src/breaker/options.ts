import { backoffMs } from '../core/backoff.ts'
import { checkFunction, checkOptionNames, checkShare, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { CircuitOptions } from './circuit.ts'
import { anyOf, failureRate, failuresInARow, type RateOptions, type Strategy, slowCallRate } from './strategy.ts'

export interface BreakerOptions {
  /** Its name in events, metrics and errors. */
  readonly name?: string
  /** Opens after so many failures in a row. 5 by default, unless another strategy is chosen. */
  readonly failures?: number
  /** Opens when too large a share of the calls fails. By default half of at least 20 calls within 10 s. */
  readonly failureRate?: Partial<RateOptions>
  /**
   * Opens when too large a share of the calls takes `slowMs` or longer. By default half of at least 20 calls within 10
   * s.
   */
  readonly slowCallRate?: Partial<RateOptions> & { readonly slowMs: number }
  /** How long it stays open before a probe is made. 60 s by default. */
  readonly cooldownMs?: number
  /**
   * Each time that it opens again without having closed, the cooldown doubles up to this. By default it does not grow.
   */
  readonly maxCooldownMs?: number
  /** Which share of the cooldown is random, so that replicas do not probe at the same moment. 0 by default. */
  readonly cooldownJitter?: number
  /** How many probes are made at a time when half-open; it closes once as many have succeeded. 1 by default. */
  readonly probes?: number
  /** A probe that has not settled after this time has failed. 30 s by default. */
  readonly probeTimeoutMs?: number
  /** Whether an error is a failure of what is called. By default every error is; a 404 should not be. */
  readonly isFailure?: (error: unknown) => boolean
  readonly clock?: Clock
  /** A number from 0 to 1, for the jitter. */
  readonly random?: () => number
}

export interface ResolvedBreakerOptions {
  readonly name: string
  readonly isFailure: ((error: unknown) => boolean) | undefined
  readonly clock: Clock
  /** Makes what the state machine of one breaker needs; each has its own strategy. */
  readonly circuit: () => Omit<CircuitOptions, 'onChange'> & { readonly strategy: Strategy }
}

const rateDefaults: RateOptions = Object.freeze({ ratio: 0.5, windowMs: 10_000, minCalls: 20 })
const defaults = Object.freeze({ name: 'default', failures: 5, cooldownMs: 60_000, probes: 1, probeTimeoutMs: 30_000 })

const rateNames = Object.keys(rateDefaults)
export const breakerOptionNames: readonly string[] = [
  ...['name', 'failures', 'failureRate', 'slowCallRate', 'cooldownMs', 'maxCooldownMs', 'cooldownJitter', 'probes'],
  ...['probeTimeoutMs', 'isFailure', 'clock', 'random'],
]

/** Checks the options and fills in the defaults, once for all breakers that are made from them. */
export function resolveBreakerOptions(options: BreakerOptions, owner = 'createBreaker'): ResolvedBreakerOptions {
  const { name, cooldownMs, probes, probeTimeoutMs } = { ...defaults, ...withoutUndefined(options) }
  const { maxCooldownMs = cooldownMs, cooldownJitter = 0, isFailure, random = Math.random } = options
  if (typeof name !== 'string' || name === '')
    throw invalidOption(`${owner}.name`, name, 'use a text such as "model-a"')
  checkWhole(`${owner}.cooldownMs`, cooldownMs, 1, 'milliseconds')
  checkWhole(`${owner}.maxCooldownMs`, maxCooldownMs, cooldownMs, 'milliseconds')
  if (cooldownJitter !== 0) checkShare(`${owner}.cooldownJitter`, cooldownJitter)
  checkWhole(`${owner}.probes`, probes, 1, 'probes')
  checkWhole(`${owner}.probeTimeoutMs`, probeTimeoutMs, 1, 'milliseconds')
  checkFunction(`${owner}.isFailure`, isFailure)
  checkFunction(`${owner}.random`, random)
  const strategy = strategyOf(options, owner)
  const cooldown = { baseMs: cooldownMs, maxMs: maxCooldownMs, jitter: cooldownJitter }
  return {
    name,
    isFailure,
    clock: options.clock ?? systemClock(),
    circuit: () => ({
      strategy: strategy(),
      cooldownMs: (openings) => backoffMs(openings - 1, random, cooldown),
      probes,
      probeMs: probeTimeoutMs,
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
    const rate = rateOf(options.slowCallRate, `${owner}.slowCallRate`, [...rateNames, 'slowMs'])
    checkWhole(`${owner}.slowCallRate.slowMs`, rate.slowMs, 1, 'milliseconds')
    makers.push(() => slowCallRate(rate))
  }
  if (makers.length === 0 || options.failures !== undefined) {
    const { failures = defaults.failures } = options
    checkWhole(`${owner}.failures`, failures, 1, 'failures')
    makers.push(() => failuresInARow(failures))
  }
  return () => anyOf(makers.map((make) => make()) as [Strategy, ...Strategy[]])
}

function rateOf<T extends Partial<RateOptions>>(given: T, owner: string, known: readonly string[]): T & RateOptions {
  checkOptionNames(owner, given, known)
  const rate = { ...rateDefaults, ...withoutUndefined(given) } as T & RateOptions
  checkShare(`${owner}.ratio`, rate.ratio)
  checkWhole(`${owner}.windowMs`, rate.windowMs, 1, 'milliseconds')
  checkWhole(`${owner}.minCalls`, rate.minCalls, 1, 'calls')
  return rate
}

/** An option with the value undefined counts as left out. */
function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
