import { invalidKey, type Key } from '../../core/key.ts'
import type { Admission, HoldHandle, HoldOptions, Limiter, WaitOptions } from '../../limiter/limiter.ts'
import type { RequestView } from '../../policy/request-view.ts'
import { unknownAddress } from '../identity/client-address.ts'
import type { LimiterGuardOptions, OwnKey } from './guard-options.ts'

/** How long a request may wait for its turn. */
export type Waiting = Required<Pick<WaitOptions, 'maxWait'>> & Pick<WaitOptions, 'signal'>

/** Puts a request to a limiter. Undefined, at once or later, when there is nothing to charge. */
export type Charging<Request> = (
  view: RequestView,
  request: Request,
  waiting?: Waiting,
) => Promise<Admission | undefined> | undefined

/** Charges requests by the policy's rules or by a key of one's own. */
export function charging<Request>(limiter: Limiter, options: LimiterGuardOptions<Request>): Charging<Request> {
  const { rule, key, cost, chargeWhen, inFlight = true } = options
  const isOwn = rule !== undefined || key !== undefined
  const keyOf = key ?? ((_: Request, view: RequestView): OwnKey => view.ip ?? unknownAddress)
  const unchanging = typeof cost === 'function' ? undefined : chargeOf(cost)

  function chargeOf(units: number | undefined): HoldOptions {
    return { ...(rule === undefined ? {} : { rule }), ...(units === undefined ? {} : { cost: units }) }
  }

  return function charge(view, request, waiting) {
    const own = isOwn ? keyOf(request, view) : undefined
    if (own instanceof Promise) return own.then((found) => chargeTo(toKey(found), view, request, waiting))
    return isOwn ? chargeTo(toKey(own), view, request, waiting) : chargeTo(view, view, request, waiting)
  }

  function chargeTo(
    subject: Key | RequestView | undefined,
    view: RequestView,
    request: Request,
    waiting: Waiting | undefined,
  ): Promise<Admission> | undefined {
    if (subject === undefined) return undefined
    const atOnce = unchanging ?? chargeOf((cost as (request: Request, view: RequestView) => number)(request, view))
    const charged = waiting === undefined ? atOnce : { ...atOnce, ...waiting }
    if (chargeWhen !== undefined) return limiter.reserve(subject, charged).then(withHold)
    if (inFlight) return limiter.admit(subject, charged)
    const decided =
      waiting !== undefined
        ? limiter.wait(subject, charged)
        : isOwn
          ? limiter.take(subject as Key, charged)
          : limiter.check(view, charged)
    return decided.then((decision) => ({ decision, hold: undefined }))
  }
}

function withHold(hold: HoldHandle): Admission {
  return { decision: hold.decision, hold }
}

/**
 * A key as the limiter takes it: ids are often numbers. An object in its place, which a client may have sent as
 * `{"user": {}}`, must not be taken for a request: no rule would match that, and it would pass.
 */
function toKey(own: Awaited<OwnKey>): Key | undefined {
  if (own === undefined || own === null) return undefined
  if (typeof own === 'string' || Array.isArray(own)) return own as Key
  if (typeof own === 'object') throw invalidKey(own)
  return [typeof own === 'bigint' ? `${own}` : (own as number | boolean)]
}
