import type { Context, Hono } from 'hono'
import { type NodeEnv, refuseOtherSites, refuseRebinding, type TokenCheck } from './access.ts'
import type { ApiParts } from './api-parts.ts'
import { failed } from './failed.ts'
import { requirePage } from './session/page-access.ts'

type Handler<Path extends string> = (c: Context<NodeEnv, Path>) => Response | Promise<Response>
type AddRoute = <Path extends string>(path: Path, handler: Handler<Path>) => void

/** Adds routes that share a guard. */
export interface GuardedRoutes {
  readonly get: AddRoute
  readonly post: AddRoute
  readonly put: AddRoute
  readonly delete: AddRoute
  readonly all: AddRoute
}

/** The only way to add a route: by naming who may use it. */
export interface Router {
  /** Everyone. */
  readonly open: GuardedRoutes
  /** Whoever may ask for decisions; pages in a browser only under an address. */
  readonly decide: GuardedRoutes
  /** Proxies that ask for decisions. They pass on the Origin of their clients, so it does not identify the caller. */
  readonly proxies: GuardedRoutes
  /** Processes that report. */
  readonly report: GuardedRoutes
  /** Operators: with the admin token or a session. */
  readonly admin: GuardedRoutes
  /** The page itself, before somebody has signed in. */
  readonly page: GuardedRoutes
}

/** A part of the API: adds its routes. */
export type Routes = (router: Router, parts: ApiParts) => void

export function createRouter(app: Hono<NodeEnv>, parts: ApiParts): Router {
  const { admin, decide, report } = parts.access
  const guardedBy = (...checks: readonly TokenCheck[]): GuardedRoutes => {
    const add =
      (method: string): AddRoute =>
      (path, handler) =>
        void app.on(method, path, answering(parts, path, checks, handler))
    const all: AddRoute = (path, handler) => void app.all(path, answering(parts, path, checks, handler))
    return { get: add('GET'), post: add('POST'), put: add('PUT'), delete: add('DELETE'), all }
  }
  return {
    open: guardedBy(),
    decide: guardedBy(refuseOtherSites, refuseRebinding, decide),
    proxies: guardedBy(decide),
    report: guardedBy(refuseOtherSites, report),
    admin: guardedBy(refuseOtherSites, admin),
    page: guardedBy(refuseOtherSites, requirePage),
  }
}

/**
 * What every answer of the API has in common: checks, metrics, errors and the end of the connection while the daemon
 * drains. It is part of the handler and not middleware, because Hono calls a single handler without composing anything.
 */
export function answering<Path extends string>(
  parts: Pick<ApiParts, 'metrics' | 'log' | 'isDraining'>,
  route: Path,
  checks: readonly TokenCheck[],
  handler: Handler<Path>,
): Handler<Path> {
  return async function answer(c) {
    const counted = parts.metrics.begin()
    let response: Response
    try {
      for (const check of checks) check(c.env.incoming)
      response = await handler(c)
    } catch (error) {
      response = failed(parts, error)
    }
    counted(route, response.status)
    // Clients with a keep-alive connection must learn that it ends.
    if (parts.isDraining()) response.headers.set('connection', 'close')
    return response
  }
}
