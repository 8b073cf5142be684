import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { httpGuard } from '../guard.ts'
import type { GuardOptions } from '../guard-options.ts'
import { LazyView, type RequestParts } from '../lazy-view.ts'
import { pathOf, queryOf } from '../request-target.ts'
import { applyOutcome } from './apply-outcome.ts'
import { goneSignal } from './node-response.ts'

export { type HttpGuard, httpGuard, type Outcome } from '../guard.ts'
export type { ChargeOptions, Denial, GuardOptions, ResponseEnd } from '../guard-options.ts'
export { type Identify, type IdentityOptions, identity } from '../identity/identity.ts'

/** A request that passed, with the decision on it. */
export interface LimitedRequest extends IncomingMessage {
  /** Undefined when the request was let through without a decision. */
  sluice?: Decision | undefined
  /** The parsed body, where something before the limiter has parsed it. */
  body?: unknown
}

export interface NodeOptions
  extends GuardOptions<LimitedRequest, { readonly req: LimitedRequest; readonly res: ServerResponse }> {
  /** Answers when the limiter itself is at fault, such as for a rule that does not exist. 500 by default. */
  readonly onError?: (error: unknown, req: LimitedRequest, res: ServerResponse) => void
}

/**
 * Puts a limiter before a handler of Node's own HTTP server.
 *
 * @example
 * createServer(rateLimit(limiter, (req, res) => res.end('hello'))).listen(3000)
 */
export function rateLimit(
  limiter: Limiter,
  handler: (req: LimitedRequest, res: ServerResponse) => unknown,
  options: NodeOptions = {},
): (req: IncomingMessage, res: ServerResponse) => void {
  const guard = httpGuard(limiter, options, 'parse it into req.body and wrap the handler below that')
  const { onDenied, onError = answerFault } = options
  const parts: RequestParts<LimitedRequest> = {
    headers: (req) => req.headers,
    ip: (req, view) => guard.clientOf(req.socket.remoteAddress, view),
    query: (req) => queryOf(req.url ?? ''),
    params: () => undefined,
    body: (req) => req.body,
    route: () => undefined,
  }
  return function sluice(req: LimitedRequest, res): void {
    const view = new LazyView(req.method ?? '', pathOf(req.url ?? ''), req, parts)
    const pass = () => handler(req, res)
    const fail = (error: unknown) => onError(error, req, res)
    guard
      .decide(view, req, () => goneSignal(res))
      .then((outcome) => {
        req.sluice = outcome.decision
        applyOutcome(outcome, res, onDenied, () => ({ req, res }), pass, fail)
      }, fail)
  }
}

function answerFault(error: unknown, _: LimitedRequest, res: ServerResponse): void {
  process.emitWarning(error instanceof Error ? error : String(error))
  if (!res.headersSent) res.writeHead(500)
  res.end()
}
