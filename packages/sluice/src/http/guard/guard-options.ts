import type { ResponseEnd } from '../../admission/outcome.ts'
import type { UsageReader } from '../../admission/usage/usage-reader.ts'
import { checkFunction, checkOptionNames, checkWhole, optionNames, pickOptions } from '../../core/check-options.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Key } from '../../core/key.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Units } from '../../limiter/decision/units.ts'
import type { RequestView } from '../../policy/request-view.ts'
import type { NameOf } from '../headers/header.ts'
import { type HeaderVersion, headerVersions } from '../headers/rate-limit-headers.ts'
import type { AdapterOptions } from '../request/adapter-options.ts'
import { refuseForeign } from './foreign-options.ts'
import { type SkipOptions, type Skips, skips } from './skip.ts'

/** What a function for keys may return: ids are often numbers, and may have to be looked up. */
export type OwnKey = FoundKey | Promise<FoundKey>
export type FoundKey = Key | number | bigint | boolean | null | undefined

/**
 * Which bucket to take from and how much, said in code. Given a rule or a key, the request is charged to that alone;
 * otherwise all rules of the policy that match it are.
 */
export interface ChargeOptions<Request> {
  /** The rule to charge. May be left out when the policy has only one. */
  readonly rule?: string
  /** Whose bucket; the client's address by default. A request for which it is `undefined` or `null` is let through. */
  readonly key?: (request: Request, view: RequestView) => OwnKey
  /** Units to spend, where the policy does not say. */
  readonly cost?: number | ((request: Request, view: RequestView) => number)
}

/** How a limiter decides on requests and what it sends to clients. `Request` is the framework's request. */
export interface LimiterGuardOptions<Request> extends ChargeOptions<Request> {
  /** Which rate-limit headers to send: a version, several, or false. `draft-11` by default. */
  readonly headers?: HeaderVersion | readonly HeaderVersion[] | false
  /**
   * How clients see a limit named. By default its own name, with the rule before it where the policy has several rules.
   */
  readonly policyName?: NameOf
  /**
   * The partition to send to clients, as a hash in the `pk` parameter. Replicas agree on it only if they share a
   * `secret`.
   */
  readonly partition?: {
    readonly of: (request: Request, view: RequestView) => string | undefined
    readonly secret?: string | undefined
  }
  /** Adds up to this much, at random, to `Retry-After`, so that refused clients do not return all at once. */
  readonly retryAfterJitter?: Duration
  /** Requests that are let through without a decision. */
  readonly skip?: SkipOptions<Request>
  /**
   * Lets a denied request wait until it passes, if that takes no longer than this. 0 by default: it is refused at once.
   */
  readonly maxDelay?: Duration
  /** The most requests that wait at once; others are refused. 1000 by default. */
  readonly maxDelayed?: number
  /**
   * Charges by outcome: the cost is reserved first, and when the response has ended this says whether it is spent, or
   * how much is. To a client that hung up, `false` gives nothing back: its request may have been worked on. A number is
   * spent in any case.
   *
   * @example
   * rateLimit(limiter, { chargeWhen: ({ status }) => status === 401 }) // only failed log-ins
   * rateLimit(limiter, { chargeWhen: ({ bytes }) => Math.ceil(bytes / 1024) })
   * // By rule; those not named keep what they took.
   * rateLimit(limiter, { chargeWhen: (_, request) => ({ tpm: tokensOf(request) }) })
   */
  readonly chargeWhen?: (end: ResponseEnd, request: Request, decision: Decision) => boolean | Units
  /** Makes what reads the tokens that a response reports, for `usage` of `chargeWhen`; see `llmCost`. */
  readonly readUsage?: () => UsageReader
  /** Charges only what succeeded: a response of 400 and above gives its cost back. In place of `chargeWhen`. */
  readonly skipFailed?: boolean
  /** Charges only what failed, such as failed log-ins: a response below 400 gives its cost back. */
  readonly skipSuccessful?: boolean
  /**
   * Whether a request occupies a permit of the `concurrency` limits it meets until its response has ended. True by
   * default; false only asks that one is free, for guards that never see the end of the response.
   */
  readonly inFlight?: boolean
}

/** What `rateLimit` of all adapters understands: the options of the limiter's guard, and those of the adapter. */
export interface GuardOptions<Request, Exchange, Answer = never>
  extends LimiterGuardOptions<Request>,
    AdapterOptions<Request, Exchange, Answer, Decision> {}

export const chargeOptionNames: readonly string[] = optionNames<ChargeOptions<never>>({
  rule: true,
  key: true,
  cost: true,
})

export const limiterGuardOptionNames: readonly string[] = optionNames<LimiterGuardOptions<never>>({
  rule: true,
  key: true,
  cost: true,
  headers: true,
  policyName: true,
  partition: true,
  retryAfterJitter: true,
  skip: true,
  maxDelay: true,
  maxDelayed: true,
  chargeWhen: true,
  readUsage: true,
  skipFailed: true,
  skipSuccessful: true,
  inFlight: true,
})

/**
 * The options of `rateLimit` of an adapter, for the limiter's guard and for the adapter, each of which refuses what is
 * not its own. `known` are the names of the adapter's; `call` is a call of it, for error messages.
 */
export function splitOptions<Options extends LimiterGuardOptions<never>>(
  options: Options,
  known: readonly string[],
  call: string,
): { readonly forGuard: Pick<Options, keyof LimiterGuardOptions<never>>; readonly forAdapter: Options } {
  const names = [...limiterGuardOptionNames, ...known]
  refuseForeign(options, names, call)
  checkOptionNames('rateLimit', options, names)
  return { forGuard: pickOptions(options, limiterGuardOptionNames), forAdapter: pickOptions(options, known) }
}

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
