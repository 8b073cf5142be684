import { Hono } from 'hono'
import { guarded, type NodeEnv, refuseRebinding, sameSite } from './access.ts'
import type { ApiParts, Routes } from './api-parts.ts'
import { failed } from './failed.ts'
import { methodsOf } from './openapi/methods-of.ts'
import { HttpProblem, problemResponse } from './problem.ts'
import { auditRoute } from './routes/audit.ts'
import { authRoute } from './routes/decisions/auth.ts'
import { checkRoute } from './routes/decisions/check.ts'
import { explainRoute } from './routes/decisions/explain.ts'
import { holdRoutes } from './routes/decisions/holds.ts'
import { keyRoutes } from './routes/decisions/keys.ts'
import { eventsRoute } from './routes/events.ts'
import { healthRoutes } from './routes/health.ts'
import { liveRoute } from './routes/page/live.ts'
import { overviewRoute } from './routes/page/overview.ts'
import { pageRoutes } from './routes/page/page.ts'
import { rulesRoute } from './routes/page/rules.ts'
import { sessionRoutes } from './routes/page/session.ts'
import { policyRoutes } from './routes/policy/policy.ts'
import { policySchemaRoute } from './routes/policy/policy-schema.ts'
import { tryPolicyRoute } from './routes/policy/try-policy.ts'
import { reportsRoute } from './routes/reports.ts'
import { statsRoute } from './routes/stats.ts'

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

/** Answers are not sniffed for another type, not cached unless they say so, and not shown inside another site. */
function protect(headers: Headers): void {
  headers.set('x-content-type-options', 'nosniff')
  headers.set('cross-origin-resource-policy', 'same-origin')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  if (!headers.has('content-security-policy'))
    headers.set('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
}

function createOthers(parts: ApiParts): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  app.use(async function counted(c, next) {
    const answered = parts.metrics.begin()
    await next()
    protect(c.res.headers)
    answered(c.req.routePath, c.res.status)
    // Clients with a keep-alive connection must learn that it ends.
    if (parts.isDraining()) c.res.headers.set('connection', 'close')
  })
  // Browsers pass their own Origin through a proxy to /v1/auth, where it does not identify the caller.
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
