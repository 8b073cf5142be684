import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Guard } from '../../admission/guard.ts'
import { optionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { type GuardOptions, splitOptions } from '../guard/guard-options.ts'
import { closing, limiterGuard } from '../guard/limiter-guard.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { type AdapterOptions, adapterOptionNames, viewOptions } from '../request/adapter-options.ts'
import { pathOf, queryOf } from '../request/request-target.ts'
import { type RequestReader, requestViews } from '../request/request-views.ts'
import { applyOutcome, goneSignal } from './node-response.ts'
import { parsedBody } from './parsed-body.ts'

/** A request that passed, with the decision on it. */
export interface LimitedRequest extends IncomingMessage {
  /** Undefined when the request was let through without a decision. */
  sluice?: Decision | undefined
  /** The parsed body, where something before the limiter has parsed it. */
  body?: unknown
}

/** What handlers of Node's server get. */
interface NodeExchange {
  readonly req: LimitedRequest
  readonly res: ServerResponse
}

interface ErrorOptions {
  /** Answers when the guard itself is at fault, such as for a rule that does not exist. 500 by default. */
  readonly onError?: (error: unknown, req: LimitedRequest, res: ServerResponse) => void
}

export interface NodeOptions extends GuardOptions<LimitedRequest, NodeExchange>, ErrorOptions {}

/** What `protect` understands. */
interface NodeProtectOptions<Decided>
  extends AdapterOptions<LimitedRequest, NodeExchange, never, Decided>,
    ErrorOptions {}

const names = adapterOptionNames(optionNames<ErrorOptions>({ onError: true }))

type NodeHandler = (req: LimitedRequest, res: ServerResponse) => unknown
type NodeListener = (req: IncomingMessage, res: ServerResponse) => void

const call = 'rateLimit(..., handler)'

/**
 * Puts a limiter before a handler of Node's own HTTP server. What it opens, given options instead of a limiter, is
 * closed by its `close`.
 *
 * @example
 * createServer(rateLimit({ limits: { rpm: 100 } }, (req, res) => res.end('hello'))).listen(3000)
 */
export function rateLimit(
  limiter: GivenLimiter,
  handler: NodeHandler,
  options: NodeOptions = {},
): NodeListener & { close(): Promise<void> } {
  const { forGuard, forAdapter } = splitOptions(options, names, call)
  const bodyHint = 'parse it into req.body and wrap the handler below that'
  const guard = limiterGuard(limiter, forGuard, { call, bodyHint })
  return closing(protect(guard, handler, forAdapter), guard)
}

/**
 * Puts a guard before a handler of Node's own HTTP server.
 *
 * @example
 * createServer(protect(shedding(capacity), (req, res) => res.end('hello'))).listen(3000)
 */
export function protect<Decided extends Decision | undefined>(
  guard: Guard<LimitedRequest, Decided>,
  handler: NodeHandler,
  options: NodeProtectOptions<Decided> = {},
): NodeListener {
  if (typeof handler !== 'function') throw invalidOption('handler', handler, 'pass a function')
  const viewOf = requestViews(reader, viewOptions(options, names))
  const { onDenied, onError = answerFault } = options
  return function sluice(req: LimitedRequest, res): void {
    const pass = () => handler(req, res)
    const fail = (error: unknown) => onError(error, req, res)
    guard
      .decide(viewOf(req.method ?? '', pathOf(req.url ?? ''), req), req, () => goneSignal(res))
      .then((outcome) => {
        req.sluice = outcome.decision
        applyOutcome(outcome, res, onDenied, () => ({ req, res }), pass, fail)
      }, fail)
  }
}

const reader: RequestReader<LimitedRequest, LimitedRequest> = {
  peer: (req) => req.socket.remoteAddress,
  headers: (req) => req.headers,
  query: (req) => queryOf(req.url ?? ''),
  params: () => undefined,
  body: (req) => parsedBody(req, req.body),
  route: () => undefined,
  request: (req) => req,
}

function answerFault(error: unknown, _: LimitedRequest, res: ServerResponse): void {
  process.emitWarning(error instanceof Error ? error : String(error))
  if (!res.headersSent) res.writeHead(500)
  res.end()
}
