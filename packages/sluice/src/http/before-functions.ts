import type { Guard } from '../admission/guard.ts'
import type { Decision } from '../limiter/decision/decision.ts'

/** What of the options is called with the request. */
interface CalledWithRequest {
  readonly parseBody?: unknown
  readonly key?: unknown
  readonly cost?: unknown
  readonly skip?: unknown
}

/** Functions of the caller may look at the body: where a parser was given, it runs before them. */
export function parseBeforeFunctions<Request>(
  guard: Guard<Request, Decision>,
  { parseBody, key, cost, skip }: CalledWithRequest,
): Guard<Request, Decision> {
  if (parseBody === undefined || ![key, cost, skip].some((option) => typeof option === 'function')) return guard
  return { decide: (view, request, gone) => guard.decide(view, request, gone), readsBody: true }
}
