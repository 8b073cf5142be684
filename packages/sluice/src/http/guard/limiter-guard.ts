import type { Guard } from '../../admission/guard.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterGuardOptions } from './guard-options.ts'
import { checkedOptions } from './guard-options.ts'
import { type GivenLimiter, isPromise, openLimiter } from './open-limiter.ts'
import { pendingGuard } from './pending-guard.ts'
import { policyGuard } from './policy-guard.ts'

/** The guard of a limiter. */
export interface LimiterGuard<Request> extends Guard<Request, Decision> {
  /** Closes the limiter if the guard made it from options; any other is closed by its creator. */
  close(): Promise<void>
}

/** How an adapter is used, for error messages and warnings. */
export interface Usage {
  /** A call of the adapter, in which `...` stands for its limiter. */
  readonly call?: string
  /** What to do about bodies that were not parsed. */
  readonly bodyHint?: string
}

/**
 * The guard that enforces a limiter's policy. Given a promise of a limiter, or options to make one with, requests wait
 * until it is there.
 *
 * @example
 * const guard = limiterGuard(limiter, { headers: ['draft-11', 'x-ratelimit'] })
 * const { decision, headers, denial } = await guard.decide(view, request)
 */
export function limiterGuard<Request>(
  given: GivenLimiter,
  options: LimiterGuardOptions<Request> = {},
  usage: Usage = {},
): LimiterGuard<Request> {
  const { call = 'limiterGuard(...)', bodyHint = 'parse the body before the limiter sees the request' } = usage
  const checked = checkedOptions(options)
  const { limiter, close } = openLimiter(given, call)
  const guardOf = (opened: Limiter): Guard<Request, Decision> => policyGuard(opened, checked, bodyHint)
  const guard = isPromise(limiter) ? pendingGuard(limiter.then(guardOf), checked.isSkipped) : guardOf(limiter)
  return Object.assign(guard, { close })
}

/**
 * What `rateLimit` of an adapter returns: what the framework takes, with `close` of its guard. Adapters write the type
 * out, as a name would have to be exported by each of them for its users' declarations.
 */
export function closing<Handler extends object>(
  handler: Handler,
  { close }: LimiterGuard<never>,
): Handler & { close(): Promise<void> } {
  return Object.assign(handler, { close })
}
