import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { httpGuard } from '../guard.ts'
import type { GuardOptions } from '../guard-options.ts'
import { carriesJson, fetchViews } from './fetch-parts.ts'
import { denialResponse, onGone, withEnd, withHeaders } from './fetch-response.ts'

export interface FetchOptions<Rest extends readonly unknown[]> extends GuardOptions<Request, Request, Response> {
  /** The address of the connected peer, which a `Request` does not tell. Rules that need it find none without this. */
  readonly remoteAddress?: (request: Request, ...rest: Rest) => string | undefined
}

const decisions = new WeakMap<Request, Decision>()

/** The decision on a request that `fetchGuard` let through. */
export function decisionOf(request: Request): Decision | undefined {
  return decisions.get(request)
}

/**
 * Puts a limiter before any fetch-style handler.
 *
 * @example
 * export default { fetch: fetchGuard(limiter, (request) => new Response('hello')) }
 */
export function fetchGuard<Rest extends readonly unknown[]>(
  limiter: Limiter,
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
  options: FetchOptions<Rest> = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  const guard = httpGuard(limiter, options, 'only JSON with a Content-Length up to 1 MiB is')
  const viewOf = fetchViews(guard)
  const { onDenied, remoteAddress } = options
  return async function sluice(request, ...rest) {
    const body = guard.readsBody && carriesJson(request.headers) ? await readJson(request.clone()) : undefined
    const view = viewOf({ request, incoming: undefined, remoteAddress: remoteAddress?.(request, ...rest), body })
    const { decision, headers, denial, finish } = await guard.decide(view, request, () => request.signal)
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, request)
      return answer instanceof Response ? answer : denialResponse(answer ?? denial, request.method)
    }
    if (decision !== undefined) decisions.set(request, decision)
    if (finish !== undefined) onGone(request.signal, finish)
    try {
      const response = withHeaders(await handler(request, ...rest), headers)
      return finish === undefined ? response : withEnd(response, finish)
    } catch (error) {
      finish?.({ status: 500, bytes: 0, completed: false })
      throw error
    }
  }
}

/** A body that is not what it says to be is as good as none. */
const readJson = (request: Request): Promise<unknown> => request.json().catch(() => undefined)
