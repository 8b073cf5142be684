import type { Guard } from '../../admission/guard.ts'
import { type GuardOutcome, passed, refusal } from '../../admission/outcome.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Skips } from './skip.ts'

/**
 * The guard of a limiter that is still being made. Requests wait for it. If it fails, those that waited fail with its
 * error, and later ones are refused with 503.
 */
export function pendingGuard<Request>(
  opening: Promise<Guard<Request, Decision>>,
  isSkipped: Skips<Request>,
): Guard<Request, Decision> {
  let guard: Guard<Request, Decision> | undefined
  opening.then(
    (opened) => {
      guard = opened
    },
    (error) => {
      guard = refusing(error, isSkipped)
    },
  )
  const waiting: Guard<Request, Decision>['decide'] = async (view, request, gone) =>
    isSkipped(request, view) === true ? passed : (await opening).decide(view, request, gone)
  return {
    // A policy that is not known yet may read bodies.
    get readsBody() {
      return guard === undefined || guard.readsBody === true
    },
    decide(view, request, gone) {
      return guard === undefined ? waiting(view, request, gone) : guard.decide(view, request, gone)
    },
  }
}

/** Refuses everything that is not skipped. */
function refusing<Request>(error: unknown, isSkipped: Skips<Request>): Guard<Request, Decision> {
  const outcome = withoutLimiter(error, 'The limiter of this service could not be made; its log tells why.')
  return {
    decide: async (view, request): Promise<GuardOutcome<Decision>> =>
      isSkipped(request, view) === true ? passed : outcome,
  }
}

/** The outcome where there is no limiter. The error itself may name addresses, so clients see only its code. */
export function withoutLimiter(error: unknown, detail: string): GuardOutcome<Decision> {
  const { code } = (error ?? {}) as { code?: unknown }
  const problem = {
    ...{ type: 'about:blank', title: 'Service Unavailable', status: 503, detail },
    ...(typeof code === 'string' ? { code } : {}),
  }
  return refusal<Decision>(problem, [], {
    ...{ allowed: false, reason: 'unavailable', rule: '', limits: [], shadow: [], policyVersion: '' },
    ...{ retryAfterMs: Number.POSITIVE_INFINITY, by: 'closed', degraded: true, failure: 'closed' },
  })
}
