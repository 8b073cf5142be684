import type { IncomingMessage } from 'node:http'
import type { Http2Stream } from 'node:http2'
import type { Guard } from '../../admission/guard.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { unreadableBody } from '../../policy/request-view.ts'
import { carriesBody } from '../request/request-views.ts'

/**
 * The body as a parser left it. What nobody has read may be read by the handler, so it is no empty body. Parsers of
 * Express 4 and Koa leave an empty object for types that they do not read.
 */
export function parsedBody(req: IncomingMessage, body: unknown): unknown {
  const isUnread = body === undefined || (isEmptyObject(body) && !req.readableDidRead)
  return isUnread && hasBody(req) ? unreadableBody : body
}

/** In HTTP/2 a body needs no header: it is there unless the stream ended with the headers. */
function hasBody(req: IncomingMessage): boolean {
  return carriesBody(req.headers) || (req as { readonly stream?: Http2Stream }).stream?.endAfterHeaders === false
}

function isEmptyObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Object.keys(body).length === 0
}

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
