import type { Key } from '../core/key.ts'
import type { Admission, HoldHandle, Limiter, TakeOptions } from '../limiter/limiter.ts'
import type { RequestView } from '../policy/match/request-view.ts'
import type { LimiterGuardOptions } from './guard-options.ts'

/** Puts a request to a limiter. Undefined when there is nothing to charge. */
export type Charging<Request> = (view: RequestView, request: Request) => Promise<Admission> | undefined

/** Clients without an address, such as on an untrusted Unix socket, share a bucket rather than having none. */
const sharedBucket = 'unknown'

/** Charges requests by the policy's rules or by a key of one's own. What is held, is held for `ttlMs` at a time. */
export function charging<Request>(
  limiter: Limiter,
  options: LimiterGuardOptions<Request>,
  ttlMs: number,
): Charging<Request> {
  const { rule, key, cost, chargeWhen, inFlight = true } = options
  const isOwn = rule !== undefined || key !== undefined
  const keyOf = key ?? ((_: Request, view: RequestView): Key | undefined => view.ip ?? sharedBucket)
  const unchanging = typeof cost === 'function' ? undefined : chargeOf(cost)

  function chargeOf(units: number | undefined): TakeOptions & { readonly ttlMs: number } {
    return { ttlMs, ...(rule === undefined ? {} : { rule }), ...(units === undefined ? {} : { cost: units }) }
  }

  return function charge(view, request) {
    const subject = isOwn ? keyOf(request, view) : view
    if (subject === undefined) return undefined
    const charged = unchanging ?? chargeOf((cost as (request: Request, view: RequestView) => number)(request, view))
    if (chargeWhen !== undefined) return limiter.reserve(subject, charged).then(withHold)
    if (inFlight) return limiter.admit(subject, charged)
    const decided = isOwn ? limiter.take(subject as Key, charged) : limiter.check(view, charged)
    return decided.then((decision) => ({ decision, hold: undefined }))
  }
}

function withHold(hold: HoldHandle): Admission {
  return { decision: hold.decision, hold }
}
