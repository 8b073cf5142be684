import {
  type CanActivate,
  type CustomDecorator,
  type ExecutionContext,
  type OnApplicationShutdown,
  SetMetadata,
} from '@nestjs/common'
import type { Guard } from '../../admission/guard.ts'
import type { GuardOutcome } from '../../admission/outcome.ts'
import { checkOptionNames } from '../../core/check-options.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import {
  type ChargeOptions,
  chargeOptionNames,
  type GuardOptions,
  type LimiterGuardOptions,
  splitOptions,
} from '../guard/guard-options.ts'
import { limiterGuard } from '../guard/limiter-guard.ts'
import { type GivenLimiter, type OpenedLimiter, openLimiter } from '../guard/open-limiter.ts'
import type { AdapterOptions } from '../request/adapter-options.ts'
import { NestAdapter, nestOptionNames } from './nest-adapter.ts'

/** Where the decorators leave their options. */
const metadataKey = 'sluice:rate-limit'

/**
 * Charges a handler, or all handlers of a controller, to a rule or key of its own.
 *
 * @example
 * \@Controller()
 * class Reports {
 *   \@RateLimit({ rule: 'reports', cost: 5 })
 *   \@Post('reports')
 *   create() {}
 * }
 */
export function RateLimit(charge: ChargeOptions<ExecutionContext>): CustomDecorator {
  checkOptionNames('RateLimit', charge, chargeOptionNames)
  return SetMetadata(metadataKey, charge)
}

/** Lets a handler, or all handlers of a controller, be called without a decision. */
export function SkipRateLimit(): CustomDecorator {
  return SetMetadata(metadataKey, false)
}

export type NestOptions = GuardOptions<ExecutionContext, ExecutionContext>

const metadata = Reflect as unknown as { getMetadata(key: string, target: object): unknown }

/** How the module is used, for error messages. */
export const moduleCall = 'RateLimitModule.forRoot({ limiter: ... })'

/** The guard that enforces a policy on each request. `RateLimitModule` installs it for the whole app. */
export class RateLimitGuard implements CanActivate, OnApplicationShutdown {
  readonly #opened: OpenedLimiter
  readonly #options: LimiterGuardOptions<ExecutionContext>
  readonly #guard: Guard<ExecutionContext, Decision>
  readonly #adapter: NestAdapter<Decision>
  readonly #own = new WeakMap<object, Guard<ExecutionContext, Decision>>()

  constructor(limiter: GivenLimiter, options: NestOptions = {}) {
    const { forGuard, forAdapter } = splitOptions(options, nestOptionNames, moduleCall)
    this.#opened = openLimiter(limiter, moduleCall)
    this.#options = forGuard
    this.#guard = this.#guardFor({})
    this.#adapter = new NestAdapter(forAdapter)
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const guard = this.#guardOf(context)
    return guard === undefined || this.#adapter.ask(guard, context)
  }

  /** Decides on a request that is refused before its handler is known; throws a `RateLimitException` to deny it. */
  async decideUnrouted(context: ExecutionContext): Promise<void> {
    if (!this.#adapter.hasAsked(context)) await this.#adapter.ask(this.#guard, context)
  }

  /** The same where the answer is already on its way, so that nothing can be thrown. */
  outcomeOfUnrouted(context: ExecutionContext): Promise<GuardOutcome<Decision>> {
    return this.#adapter.decide(this.#guard, context)
  }

  /** Closes the limiter if it was made from options; any other is closed by its creator. */
  close(): Promise<void> {
    return this.#opened.close()
  }

  /** By then the server has been closed. */
  onApplicationShutdown(): Promise<void> {
    return this.close()
  }

  #guardOf(context: ExecutionContext): Guard<ExecutionContext, Decision> | undefined {
    const own =
      metadata.getMetadata(metadataKey, context.getHandler()) ?? metadata.getMetadata(metadataKey, context.getClass())
    if (own === undefined) return this.#guard
    if (own === false) return undefined
    const charge = own as ChargeOptions<ExecutionContext>
    let guard = this.#own.get(charge)
    if (guard === undefined) {
      guard = this.#guardFor(charge)
      this.#own.set(charge, guard)
    }
    return guard
  }

  #guardFor(charge: ChargeOptions<ExecutionContext>): Guard<ExecutionContext, Decision> {
    const usage = { call: moduleCall, bodyHint: 'leave the body parser of the platform on' }
    return limiterGuard(this.#opened.limiter, { ...this.#options, ...charge }, usage)
  }
}

/**
 * Asks a guard, such as one that sheds load, about each request.
 *
 * @example app.useGlobalGuards(new ProtectGuard(shedding(capacity)))
 */
export class ProtectGuard<Decided extends Decision | undefined> implements CanActivate {
  readonly #guard: Guard<ExecutionContext, Decided>
  readonly #adapter: NestAdapter<Decided>

  constructor(
    guard: Guard<ExecutionContext, Decided>,
    options: AdapterOptions<ExecutionContext, ExecutionContext, never, Decided> = {},
  ) {
    this.#guard = guard
    this.#adapter = new NestAdapter(options)
  }

  canActivate(context: ExecutionContext): Promise<boolean> {
    return this.#adapter.ask(this.#guard, context)
  }
}
