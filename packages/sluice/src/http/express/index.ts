import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Guard } from '../../admission/guard.ts'
import { checkFunction, optionNames } from '../../core/check-options.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { unreadableBody } from '../../policy/request-view.ts'
import { type GuardOptions, splitOptions } from '../guard/guard-options.ts'
import { closing, limiterGuard } from '../guard/limiter-guard.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { applyOutcome, goneSignal } from '../node/node-response.ts'
import { parseBeforeFunctions, parsedBody } from '../node/parsed-body.ts'
import { type AdapterOptions, adapterOptionNames, viewOptions } from '../request/adapter-options.ts'
import { pathOf } from '../request/request-target.ts'
import { type RequestReader, requestViews } from '../request/request-views.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision on this request; undefined when it was let through without one. */
      sluice?: Decision | undefined
    }
  }
}

/** What handlers of Express get. */
interface ExpressExchange {
  readonly req: Request
  readonly res: Response
}

interface BodyOptions {
  /**
   * The parser to run first while a rule reads bodies, or `key`, `cost` or `skip` is a function. A body that it refuses
   * is counted too; a parser that stands before the limiter would answer by itself.
   *
   * @example app.use(rateLimit(limiter, { parseBody: express.json() }), express.json())
   */
  readonly parseBody?: RequestHandler
}

export interface ExpressOptions extends GuardOptions<Request, ExpressExchange>, BodyOptions {}

/** What `protect` understands. */
interface ExpressProtectOptions<Decided>
  extends AdapterOptions<Request, ExpressExchange, never, Decided>,
    BodyOptions {}

const names = adapterOptionNames(optionNames<BodyOptions>({ parseBody: true }))

const call = 'rateLimit(...)'

/**
 * Middleware that enforces a policy, for a whole app or for one route. What it opens, given options instead of a
 * limiter, is closed by its `close`.
 *
 * @example
 * app.use(rateLimit({ limits: { rpm: 100 } }))
 * @example
 * app.use(rateLimit(limiter, { parseBody: express.json() }))
 * app.use(express.json())
 * app.post('/reports', rateLimit(limiter, { rule: 'reports', key: (req) => req.user.id, cost: 5 }), handler)
 */
export function rateLimit(
  limiter: GivenLimiter,
  options: ExpressOptions = {},
): RequestHandler & { close(): Promise<void> } {
  const { forGuard, forAdapter } = splitOptions(options, names, call)
  const bodyHint = 'give rateLimit() the parser: { parseBody: express.json() }'
  const guard = limiterGuard(limiter, forGuard, { call, bodyHint })
  return closing(protect(parseBeforeFunctions(guard, options), forAdapter), guard)
}

/**
 * Middleware that asks a guard, such as one that sheds load.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function protect<Decided extends Decision | undefined>(
  guard: Guard<Request, Decided>,
  options: ExpressProtectOptions<Decided> = {},
): RequestHandler {
  const viewOf = requestViews(reader, viewOptions(options, names))
  const { onDenied, parseBody } = options
  checkFunction('parseBody', parseBody)
  const decide = (req: Request, res: Response, pass: () => void, fail: NextFunction): void => {
    guard
      .decide(viewOf(req.method, pathOf(req.originalUrl), req), req, () => goneSignal(res))
      .then((outcome) => {
        req.sluice = outcome.decision
        applyOutcome(outcome, res, onDenied, () => ({ req, res }), pass, fail)
      }, fail)
  }
  return function sluice(req, res, next) {
    if (parseBody === undefined || !guard.readsBody || req.body !== undefined) decide(req, res, next, next)
    else
      parseBody(req, res, (error?: unknown) => {
        if (error !== undefined) unparsed.add(req)
        decide(req, res, () => next(error), next)
      })
  }
}

/** Requests whose body was refused by the parser; some leave an empty one behind. */
const unparsed = new WeakSet<Request>()

const reader: RequestReader<Request, Request> = {
  peer: (req) => req.socket.remoteAddress,
  headers: (req) => req.headers,
  query: (req) => req.query,
  params: (req) => req.params,
  body: (req) => (unparsed.has(req) ? unreadableBody : parsedBody(req, req.body)),
  route: routeOf,
  request: (req) => req,
}

/** The pattern of the route, which is known where the middleware belongs to one. */
function routeOf({ route, baseUrl }: Request): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : undefined
}
