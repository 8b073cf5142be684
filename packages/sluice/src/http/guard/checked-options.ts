import { checkFunction, checkOptionNames, checkWhole } from '../../core/check-options.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { headerVersions } from '../headers/rate-limit-headers.ts'
import { type LimiterGuardOptions, limiterGuardOptionNames } from './guard-options.ts'
import { type Skips, skips } from './skip.ts'

/** The options of a guard, with everything in them checked that needs no limiter. */
export interface CheckedOptions<Request> extends LimiterGuardOptions<Request> {
  readonly maxDelayMs: number
  readonly maxDelayed: number
  readonly isSkipped: Skips<Request>
}

/** A longer timer fires at once in Node. */
const longest = 2 ** 31 - 1

/** Checks the options of a guard, so that mistakes show at once even where the limiter is still being made. */
export function checkedOptions<Request>(options: LimiterGuardOptions<Request>): CheckedOptions<Request> {
  checkOptionNames('limiterGuard', options, limiterGuardOptionNames)
  if (options.partition !== undefined) checkOptionNames('partition', options.partition, ['of', 'secret'])
  checkFunction('chargeWhen', options.chargeWhen)
  checkFunction('key', options.key)
  if (options.headers !== undefined) headerVersions(options.headers)
  waitMs('retryAfterJitter', options.retryAfterJitter)
  const { maxDelayed = 1000 } = options
  checkWhole('maxDelayed', maxDelayed, 0, 'requests')
  const chargeWhen = chargeBy(options)
  return {
    ...options,
    ...(chargeWhen ? { chargeWhen } : {}),
    maxDelayed,
    maxDelayMs: waitMs('maxDelay', options.maxDelay),
    isSkipped: skips(options.skip),
  }
}

/** What is charged by outcome; the two names are for what most services want. */
function chargeBy<Request>(options: LimiterGuardOptions<Request>): LimiterGuardOptions<Request>['chargeWhen'] {
  const { chargeWhen, skipFailed, skipSuccessful } = options
  const given = Object.entries({ chargeWhen, skipFailed, skipSuccessful }).filter(([, value]) => value)
  if (given.length > 1) throw invalidOption(given[1]![0], given[1]![1], `give either it or ${given[0]![0]}`)
  if (skipFailed) return ({ status }) => status < 400
  return skipSuccessful ? ({ status }) => status >= 400 : chargeWhen
}

/** An option that says how long something waits; nothing when it is left out. */
export function waitMs(option: string, duration: Duration = 0): number {
  const ms = parseDuration(duration, option)
  if (ms > longest) throw invalidOption(option, duration, 'use at most 24 days')
  return ms
}
