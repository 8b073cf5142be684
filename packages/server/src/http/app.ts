import { Hono } from 'hono'
import type { NodeEnv } from './access/access.ts'
import type { ApiParts } from './api-parts.ts'
import { openApi } from './openapi/document.ts'
import { HttpProblem } from './problem.ts'
import { answering, createRouter, type Routes, type Side } from './router.ts'
import { auditRoute } from './routes/audit.ts'
import { authRoute } from './routes/decisions/auth.ts'
import { checkRoute } from './routes/decisions/check.ts'
import { explainRoute } from './routes/decisions/explain.ts'
import { holdRoutes } from './routes/decisions/holds.ts'
import { blockRoutes, keyRoutes } from './routes/decisions/keys.ts'
import { healthRoutes } from './routes/health.ts'
import { liveRoute } from './routes/page/live.ts'
import { overviewRoute } from './routes/page/overview.ts'
import { pageRoutes } from './routes/page/page.ts'
import { rulesRoute } from './routes/page/rules.ts'
import { sessionRoutes } from './routes/page/session.ts'
import { policyRoutes, policySchemaRoute } from './routes/policy/policy.ts'
import { tryPolicyRoute } from './routes/policy/try-policy.ts'
import { denialsRoute, partActionsRoute, reportsRoute, statsRoute } from './routes/reports.ts'

const routes: readonly Routes[] = [
  ...[checkRoute, holdRoutes, authRoute, keyRoutes, blockRoutes, explainRoute],
  ...[policyRoutes, policySchemaRoute, tryPolicyRoute, auditRoute],
  ...[statsRoute, denialsRoute, reportsRoute, partActionsRoute, healthRoutes],
  ...[pageRoutes, sessionRoutes, overviewRoute, rulesRoute, liveRoute],
]

/** The HTTP API of the daemon, or the side of it that one of its listeners has. */
export function createApp(parts: ApiParts, side: Side = 'both'): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  const router = createRouter(app, parts, side)
  for (const add of routes) add(router, parts)
  app.notFound(
    answering(parts, '/*', [], function unknownRoute(c) {
      const methods = methodsOf(c.req.path)
      // A known route that is not here is on the other listener.
      if (methods.length === 0 || methods.includes(c.req.method))
        throw new HttpProblem(404, `There is no ${c.req.method} ${c.req.path}; /openapi.json lists what there is.`)
      const detail = `${c.req.path} knows ${methods.join(', ')}, not ${c.req.method}.`
      throw new HttpProblem(405, detail, { allow: methods })
    }),
  )
  return app
}

const described = Object.entries(openApi.paths as Readonly<Record<string, object>>).map(([path, operations]) => ({
  pattern: new RegExp(`^${path.replace(/\{key\}/, '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
  methods: Object.keys(operations).map((method) => method.toUpperCase()),
}))

/** The methods that the description has for a path; none when it has no such path. */
function methodsOf(path: string): readonly string[] {
  return described.find(({ pattern }) => pattern.test(path))?.methods ?? []
}
