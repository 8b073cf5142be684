import type { Routes } from '../api-parts.ts'
import { readFlag, readQuery } from '../read-query.ts'

/** Whether the process lives (`/health`), whether it should get requests (`/ready`), and its metrics. */
export const healthRoutes: Routes = (app, { limiter, metrics, dataSources, isDraining }) => {
  for (const path of ['/health', '/healthz']) app.get(path, (c) => c.json({ status: 'ok' }))

  for (const path of ['/ready', '/readyz']) {
    app.get(path, async function ready(c) {
      const strict = readFlag('strict', readQuery(c, 'strict').strict)
      if (isDraining()) return c.json({ status: 'draining' }, 503)
      const [health, sources] = await Promise.all([limiter.health(), dataSources?.read()])
      const isFresh = dataSources === undefined || sources?.every(({ stale }) => !stale) === true
      const isOk = health.ready && isFresh
      const body = {
        status: isOk ? 'ok' : 'degraded',
        breaker: health.store.breaker,
        policyVersion: health.policy.version,
        ...(dataSources && { sources: sources ?? null }),
      }
      // Stale data is reported but still served. While the store is away, rules decide by `onStoreFailure`: taking
      // every replica out would deny everything instead.
      return c.json(body, isOk || !strict ? 200 : 503)
    })
  }

  app.get('/metrics', async (c) => c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }))
}
