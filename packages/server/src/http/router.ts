import type { Context, Hono } from 'hono'
import { type NodeEnv, refuseOtherSites, refuseRebinding, type TokenCheck } from './access/access.ts'
import { requirePage } from './access/session/page-access.ts'
import type { ApiParts } from './api-parts.ts'
import { checkQuery } from './input/read-query.ts'
import { parametersOf } from './openapi/document.ts'
import { problemResponse, toProblem } from './problem.ts'

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
  /** Everyone, on every listener. */
  readonly open: GuardedRoutes
  /** Everyone who reaches the listener of operators: the files of the page. */
  readonly site: GuardedRoutes
  readonly metrics: GuardedRoutes
  /** Whoever may ask for decisions; pages in a browser only under an address. */
  readonly decide: GuardedRoutes
  /** Proxies that ask for decisions. They pass on the Origin of their clients, so it does not identify the caller. */
  readonly proxies: GuardedRoutes
  /** Processes that report. */
  readonly report: GuardedRoutes
  /** Operators that may look: with a token or a session. */
  readonly read: GuardedRoutes
  /** Operators that may change things. */
  readonly admin: GuardedRoutes
  /** The page itself, before somebody has signed in. */
  readonly page: GuardedRoutes
}

/** Which routes a listener has: all, or only one side of the firewall between services and operators. */
export type Side = 'both' | 'decisions' | 'operators'

/** A part of the API: adds its routes. */
export type Routes = (router: Router, parts: ApiParts) => void

export function createRouter(app: Hono<NodeEnv>, parts: ApiParts, side: Side): Router {
  const { admin, read, metrics, decide, report } = parts.access
  const guardedBy = (...checks: readonly TokenCheck[]): GuardedRoutes => {
    const add =
      (method: string): AddRoute =>
      (path, handler) => {
        const known = parametersOf(method, path)
        const handle: typeof handler = (c) => {
          if (known !== undefined) checkQuery(c, known)
          return handler(c)
        }
        app.on(method, path, answering(parts, path, checks, handle))
      }
    return { get: add('GET'), post: add('POST'), put: add('PUT'), delete: add('DELETE'), all: add('ALL') }
  }
  const absent: GuardedRoutes = { get() {}, post() {}, put() {}, delete() {}, all() {} }
  const on = (which: Side, ...checks: readonly TokenCheck[]): GuardedRoutes =>
    side === 'both' || side === which ? guardedBy(...checks) : absent
  return {
    open: guardedBy(),
    site: on('operators'),
    metrics: on('operators', metrics),
    decide: on('decisions', refuseOtherSites, refuseRebinding, decide),
    proxies: on('decisions', decide),
    report: on('decisions', refuseOtherSites, report),
    read: on('operators', refuseOtherSites, read),
    admin: on('operators', refuseOtherSites, admin),
    page: on('operators', refuseOtherSites, requirePage),
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

/** The response to a request that failed. Only a fault of the daemon itself is logged. */
function failed({ log }: Pick<ApiParts, 'log'>, error: unknown): Response {
  if (toProblem(error).status === 500) log.error({ err: error }, 'a request failed')
  return problemResponse(error)
}
