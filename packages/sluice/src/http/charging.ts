import { isSluiceError } from '../core/errors.ts'
import type { Key } from '../core/key.ts'
import type { Decision } from '../limiter/decision/decision.ts'
import type { HoldHandle, Limiter, TakeOptions } from '../limiter/limiter.ts'
import type { RequestView } from '../policy/match/request-view.ts'
import type { GuardOptions } from './guard-options.ts'

/** What a limiter answered: a decision, or a hold with its decision. */
export type Answered = Decision | HoldHandle

/** How requests are put to a limiter. */
export interface Charging<Request> {
  /** Undefined when there is sharedBucket to charge. */
  ask(view: RequestView, request: Request): Promise<Answered> | undefined
  /**
   * Charging again after an error that says a matched rule counts what is in flight: from then on a place is held until the response
   * has ended. Throws every other error.
   */
  askToHold(error: unknown, view: RequestView, request: Request): Promise<Answered> | undefined
}

/** The hold, if the answer is one. */
export const holdOf = (answer: Answered): HoldHandle | undefined => ('settle' in answer ? answer : undefined)

/** The decision, whatever the answer is. */
export const decisionIn = (answer: Answered): Decision => ('settle' in answer ? answer.decision : answer)

/** Clients without an address, such as on an untrusted Unix socket, share a bucket rather than having none. */
const sharedBucket = 'unknown'

/** Charges requests by the policy's rules or by a key of one's own, for good or until the response has ended. */
export function charging<Request, Exchange, Answer>(
  limiter: Limiter,
  options: GuardOptions<Request, Exchange, Answer>,
  ttlMs: number,
): Charging<Request> {
  const { rule, key, cost, chargeWhen } = options
  const isOwn = rule !== undefined || key !== undefined
  const keyOf = key ?? ((_: Request, view: RequestView): Key | undefined => view.ip ?? sharedBucket)
  let holds = chargeWhen !== undefined || options.inFlight === true

  function charge(view: RequestView, request: Request): TakeOptions | undefined {
    if (rule === undefined && cost === undefined) return undefined
    const units = typeof cost === 'function' ? cost(request, view) : cost
    return { ...(rule === undefined ? {} : { rule }), ...(units === undefined ? {} : { cost: units }) }
  }

  function ask(view: RequestView, request: Request): Promise<Answered> | undefined {
    if (!isOwn && !holds) return limiter.check(view, charge(view, request))
    const subject = isOwn ? keyOf(request, view) : view
    if (subject === undefined) return undefined
    if (!holds) return limiter.take(subject as Key, charge(view, request))
    const hold = { ...charge(view, request), ttlMs }
    return chargeWhen ? limiter.reserve(subject, hold) : limiter.acquire(subject, hold)
  }

  return {
    ask,
    askToHold(error, view, request) {
      if (holds || options.inFlight === false || !isSluiceError(error) || error.code !== 'SLUICE_WRONG_USE') throw error
      holds = true
      return ask(view, request)
    },
  }
}
