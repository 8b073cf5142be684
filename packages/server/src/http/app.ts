import { Hono } from 'hono'
import { guarded, type NodeEnv, refuseRebinding, sameSite } from './access.ts'
import type { ApiParts } from './api-parts.ts'
import { failed } from './failed.ts'
import { methodsOf } from './openapi/methods-of.ts'
import { HttpProblem, problemResponse } from './problem.ts'
import { auditRoute } from './routes/audit.ts'
import { authRoute } from './routes/auth.ts'
import { checkRoute } from './routes/check.ts'
import { eventsRoute } from './routes/events.ts'
import { explainRoute } from './routes/explain.ts'
import { healthRoutes } from './routes/health.ts'
import { holdRoutes } from './routes/holds.ts'
import { keyRoutes } from './routes/keys.ts'
import { liveRoute } from './routes/live.ts'
import { overviewRoute } from './routes/overview.ts'
import { pageRoutes } from './routes/page.ts'
import { policyRoutes } from './routes/policy.ts'
import { policySchemaRoute } from './routes/policy-schema.ts'
import { reportsRoute } from './routes/reports.ts'
import { rulesRoute } from './routes/rules.ts'
import { sessionRoutes } from './routes/session.ts'
import { statsRoute } from './routes/stats.ts'
import { tryPolicyRoute } from './routes/try-policy.ts'

/** A part of the API: adds its routes. */
export type Routes = (app: Hono<NodeEnv>, parts: ApiParts) => void

const open: readonly Routes[] = [holdRoutes, authRoute, healthRoutes, pageRoutes, sessionRoutes, reportsRoute]
const admin: readonly Routes[] = [
  keyRoutes,
  explainRoute,
  policyRoutes,
  policySchemaRoute,
  tryPolicyRoute,
  auditRoute,
  statsRoute,
  overviewRoute,
  rulesRoute,
  liveRoute,
  eventsRoute,
]
const adminPaths = [
  '/v1/keys/*',
  '/v1/explain',
  '/v1/policy',
  '/v1/policy/*',
  '/v1/audit',
  '/v1/stats',
  '/v1/events',
  '/v1/overview',
  '/v1/rules',
  '/v1/rules/*',
  '/v1/live',
]

/** The HTTP API of the daemon: the one route that must be fast by itself, and everything else behind it. */
export function createApp(parts: ApiParts): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  const others = createOthers(parts)
  checkRoute(app, parts)
  app.notFound((c) => others.fetch(c.req.raw, c.env))
  return app
}

function createOthers(parts: ApiParts): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  app.use(async function counted(c, next) {
    const answered = parts.metrics.begin()
    await next()
    answered(c.req.routePath, c.res.status)
    // Whoever keeps a connection must learn that it ends.
    if (parts.isDraining()) c.res.headers.set('connection', 'close')
  })
  // Browsers pass their own Origin through a proxy to /v1/auth, where it says nothing about who asks.
  for (const path of ['/v1/reserve', '/v1/settle', ...adminPaths]) app.use(path, sameSite)
  for (const path of ['/v1/reserve', '/v1/settle']) app.use(path, guarded(refuseRebinding))
  for (const path of ['/v1/reserve', '/v1/settle', '/v1/auth']) app.use(path, guarded(parts.access.decide))
  for (const path of ['/v1/reports', '/v1/reports/*']) app.use(path, sameSite, guarded(parts.access.report))
  for (const path of adminPaths) app.use(path, guarded(parts.access.admin))
  for (const routes of [...open, ...admin]) routes(app, parts)
  app.notFound((c) => {
    const methods = methodsOf(c.req.path)
    if (methods.length > 0)
      return problemResponse(
        new HttpProblem(405, `${c.req.path} knows ${methods.join(', ')}, not ${c.req.method}.`, { allow: methods }),
      )
    const detail = `There is no ${c.req.method} ${c.req.path}; /openapi.json lists what there is.`
    return problemResponse(new HttpProblem(404, detail))
  })
  app.onError((error) => failed(parts, error))
  return app
}
