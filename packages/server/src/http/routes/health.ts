import { readFlag } from '../input/read-query.ts'
import { readiness } from '../ready.ts'
import type { Routes } from '../router.ts'

/** Whether the process lives (`/health`), whether it should get requests (`/ready`), and its metrics. */
export const healthRoutes: Routes = (
  { open, metrics: forMetrics },
  { limiter, proxy, metrics, dataSources, isDraining },
) => {
  for (const path of ['/health', '/healthz']) open.get(path, (c) => c.json({ status: 'ok' }))

  for (const path of ['/ready', '/readyz']) {
    open.get(path, async function ready(c) {
      const strict = readFlag(c, 'strict')
      const isEnding = isDraining()
      const sources = dataSources?.health()
      const health = await readiness(isEnding, limiter.health(), proxy?.health(), sources)
      const body = { ...health, ...(sources && { sources: (await sources).sources }) }
      // Stale data is reported but still served. While the store is away, rules decide by `onStoreFailure`: taking
      // every replica out would deny everything instead.
      return c.json(body, health.ready || !(strict || isEnding) ? 200 : 503)
    })
  }

  forMetrics.get('/metrics', async (c) => c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }))
}
