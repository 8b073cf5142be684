import type { Request, RequestHandler, Response } from 'express'
import type { Guard } from '../../admission/guard.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type AdapterOptions, adapterOptionNames, viewOptions } from '../adapter-options.ts'
import { type GuardOptions, splitOptions } from '../guard-options.ts'
import { limiterGuard } from '../limiter-guard.ts'
import { applyOutcome } from '../node/apply-outcome.ts'
import { goneSignal } from '../node/node-response.ts'
import { pathOf } from '../request-target.ts'
import { type RequestReader, requestViews } from '../request-views.ts'

export type { Denial, ResponseEnd } from '../../admission/outcome.ts'
export type { ChargeOptions, GuardOptions } from '../guard-options.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision on this request; undefined when it was let through without one. */
      sluice?: Decision | undefined
    }
  }
}

/** What handlers of Express get. */
export interface ExpressExchange {
  readonly req: Request
  readonly res: Response
}

export type ExpressOptions = GuardOptions<Request, ExpressExchange>

const names = adapterOptionNames()

/**
 * Middleware that enforces a policy, for a whole app or for one route.
 *
 * @example
 * app.use(express.json())
 * app.use(rateLimit(limiter))
 * app.post('/reports', rateLimit(limiter, { rule: 'reports', key: (req) => req.user.id, cost: 5 }), handler)
 */
export function rateLimit(limiter: Limiter, options: ExpressOptions = {}): RequestHandler {
  const { forGuard, forAdapter } = splitOptions(options, names)
  const hint = 'put the parser, such as express.json(), before rateLimit()'
  return protect(limiterGuard(limiter, forGuard, hint), forAdapter)
}

/**
 * Middleware that asks a guard, such as one that sheds load.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function protect<Decided extends Decision | undefined>(
  guard: Guard<Request, Decided>,
  options: AdapterOptions<Request, ExpressExchange, never, Decided> = {},
): RequestHandler {
  const viewOf = requestViews(reader, viewOptions(options, names))
  const { onDenied } = options
  return function sluice(req, res, next) {
    guard
      .decide(viewOf(req.method, pathOf(req.originalUrl), req), req, () => goneSignal(res))
      .then((outcome) => {
        req.sluice = outcome.decision
        applyOutcome(outcome, res, onDenied, () => ({ req, res }), next, next)
      }, next)
  }
}

const reader: RequestReader<Request, Request> = {
  peer: (req) => req.socket.remoteAddress,
  headers: (req) => req.headers,
  query: (req) => req.query,
  params: (req) => req.params,
  body: (req) => req.body,
  route: routeOf,
  request: (req) => req,
}

/** The pattern of the route, which is known where the middleware belongs to one. */
function routeOf({ route, baseUrl }: Request): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : undefined
}
