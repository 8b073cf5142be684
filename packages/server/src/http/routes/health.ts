import { readFlag, readQuery } from '../read-query.ts'
import type { Routes } from '../router.ts'

/** Whether the process lives (`/health`), whether it should get requests (`/ready`), and its metrics. */
export const healthRoutes: Routes = ({ open }, { limiter, metrics, dataSources, isDraining }) => {
  for (const path of ['/health', '/healthz']) open.get(path, (c) => c.json({ status: 'ok' }))

  for (const path of ['/ready', '/readyz']) {
    open.get(path, async function ready(c) {
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

  open.get('/metrics', async (c) => c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }))
}
