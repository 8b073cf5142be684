import type { Key } from '../core/key.ts'
import type { Decision } from '../limiter/decision.ts'
import type { HoldHandle, Limiter, TakeOptions } from '../limiter/limiter.ts'
import type { RequestView } from '../policy/request-view.ts'
import type { GuardOptions } from './guard-options.ts'

/** What a limiter answered: a decision, or a hold with its decision. */
export type Answered = Decision | HoldHandle

/** Puts the question to the limiter; undefined when there is nobody to charge. */
export type Ask<Request> = (view: RequestView, request: Request) => Promise<Answered> | undefined

/** The hold, if the answer is one. */
export const holdOf = (answer: Answered): HoldHandle | undefined => ('settle' in answer ? answer : undefined)

/** The decision, whatever the answer is. */
export const decisionIn = (answer: Answered): Decision => ('settle' in answer ? answer.decision : answer)

/** Clients without an address, such as on an untrusted Unix socket, share a bucket rather than having none. */
const nobody = 'unknown'

/** Chooses once how requests are charged: by the policy's rules or a key of one's own, for good or until the response ends. */
export function asks<Request, Exchange, Answer>(
  limiter: Limiter,
  options: GuardOptions<Request, Exchange, Answer>,
  ttlMs: number,
): Ask<Request> {
  const { rule, key, cost, chargeWhen, inFlight } = options
  const isOwn = rule !== undefined || key !== undefined
  const keyOf = key ?? ((_: Request, view: RequestView): Key | undefined => view.ip ?? nobody)

  function charge(view: RequestView, request: Request): TakeOptions | undefined {
    if (rule === undefined && cost === undefined) return undefined
    const units = typeof cost === 'function' ? cost(request, view) : cost
    return { ...(rule === undefined ? {} : { rule }), ...(units === undefined ? {} : { cost: units }) }
  }

  if (chargeWhen || inFlight) {
    const hold = chargeWhen ? limiter.reserve.bind(limiter) : limiter.acquire.bind(limiter)
    return (view, request) => {
      const subject = isOwn ? keyOf(request, view) : view
      return subject === undefined ? undefined : hold(subject, { ...charge(view, request), ttlMs })
    }
  }
  if (isOwn) {
    return (view, request) => {
      const subject = keyOf(request, view)
      return subject === undefined ? undefined : limiter.take(subject, charge(view, request))
    }
  }
  return (view, request) => limiter.check(view, charge(view, request))
}
