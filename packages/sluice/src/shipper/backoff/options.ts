import { checkOptionNames, durationFrom } from '../../core/check-options.ts'
import type { Duration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { type BackoffRules, defaultBackoff } from './next.ts'

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
