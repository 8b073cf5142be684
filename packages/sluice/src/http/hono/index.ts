import type { ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { httpGuard } from '../guard.ts'
import type { GuardOptions } from '../guard-options.ts'
import { goneSignal, onResponseEnd, setHeaders } from '../node/node-response.ts'
import { carriesJson, fetchViews, type NodeIncoming } from './fetch-parts.ts'
import { denialResponse, onGone, withEnd, withHeaders } from './fetch-response.ts'

export type { ChargeOptions, Denial, GuardOptions, ResponseEnd } from '../guard-options.ts'
export { decisionOf, type FetchOptions, fetchGuard } from './fetch-guard.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision on this request; undefined when it was let through without one. */
    sluice: Decision | undefined
  }
}

export interface HonoOptions extends GuardOptions<Context, Context, Response> {
  /** The address of the connected peer, such as `(c) => getConnInfo(c).remote.address`. Known by itself on Node. */
  readonly remoteAddress?: (c: Context) => string | undefined
}

/** What @hono/node-server puts into `c.env`. */
interface NodeBindings {
  readonly incoming?: NodeIncoming
  readonly outgoing?: ServerResponse
}

const onNode = (c: Context): string | undefined => (c.env as NodeBindings | undefined)?.incoming?.socket?.remoteAddress

/**
 * Middleware that enforces a policy.
 *
 * @example
 * app.use(rateLimit(limiter))
 * app.get('/', (c) => c.text(`${c.get('sluice')?.limits[0]?.remaining} left`))
 */
export function rateLimit(limiter: Limiter, options: HonoOptions = {}): MiddlewareHandler {
  const guard = httpGuard(limiter, options, 'only JSON with a Content-Length up to 1 MiB is')
  const viewOf = fetchViews(guard)
  const { onDenied, remoteAddress = onNode } = options
  return async function sluice(c, next) {
    const { incoming, outgoing } = (c.env ?? {}) as NodeBindings
    const view = viewOf({
      request: c.req.raw,
      incoming,
      remoteAddress: remoteAddress(c),
      body: guard.readsBody && carriesJson(c.req.raw.headers) ? await readJson(c) : undefined,
      routed: c.req,
    })
    const gone = () => (outgoing ? goneSignal(outgoing) : c.req.raw.signal)
    const { decision, headers, denial, finish } = await guard.decide(view, c, gone)
    c.set('sluice', decision)
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, c)
      return answer instanceof Response ? answer : denialResponse(answer ?? denial, c.req.method)
    }
    // On Node the response to come can be prepared directly, which costs much less than a copy of its headers.
    if (outgoing) {
      setHeaders(outgoing, headers)
      if (finish !== undefined) onResponseEnd(outgoing, finish)
      return next()
    }
    if (finish !== undefined) onGone(c.req.raw.signal, finish)
    await next()
    const response = withHeaders(c.res, headers)
    if (response !== c.res || finish !== undefined) {
      const ended = finish === undefined ? response : withEnd(response, finish)
      // Hono merges an old response into a new one; this one has it all already.
      c.res = undefined
      c.res = ended
    }
    return undefined
  }
}

/** Hono keeps what was read, so handlers can read it again. What is not the JSON it says to be is as good as none. */
const readJson = (c: Context): Promise<unknown> => c.req.json().catch(() => undefined)
