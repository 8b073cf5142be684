import type { Request, RequestHandler, Response } from 'express'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { httpGuard } from '../guard.ts'
import type { GuardOptions } from '../guard-options.ts'
import { LazyView, type RequestParts } from '../lazy-view.ts'
import { applyOutcome } from '../node/apply-outcome.ts'
import { goneSignal } from '../node/node-response.ts'
import { pathOf } from '../request-target.ts'

export type { ChargeOptions, Denial, GuardOptions, ResponseEnd } from '../guard-options.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision on this request; undefined when it was let through without one. */
      sluice?: Decision | undefined
    }
  }
}

export type ExpressOptions = GuardOptions<Request, { readonly req: Request; readonly res: Response }>

/**
 * Middleware that enforces a policy, for a whole app or for one route.
 *
 * @example
 * app.use(express.json())
 * app.use(rateLimit(limiter))
 * app.post('/reports', rateLimit(limiter, { rule: 'reports', key: (req) => req.user.id, cost: 5 }), handler)
 */
export function rateLimit(limiter: Limiter, options: ExpressOptions = {}): RequestHandler {
  const guard = httpGuard(limiter, options, 'put the parser, such as express.json(), before rateLimit()')
  const { onDenied } = options
  const parts: RequestParts<Request> = {
    headers: (req) => req.headers,
    ip: (req, view) => guard.clientOf(req.socket.remoteAddress, view),
    query: (req) => req.query,
    params: (req) => req.params,
    body: (req) => req.body,
    route: routeOf,
  }

  return function sluice(req, res, next) {
    const view = new LazyView(req.method, pathOf(req.originalUrl), req, parts)
    guard
      .decide(view, req, () => goneSignal(res))
      .then((outcome) => {
        req.sluice = outcome.decision
        applyOutcome(outcome, res, onDenied, () => ({ req, res }), next, next)
      }, next)
  }
}

/** The pattern of the route, which is known where the middleware belongs to one. */
function routeOf({ route, baseUrl }: Request): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : undefined
}
