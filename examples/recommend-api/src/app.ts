import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import type { CacheKey } from 'sluice/cache'
import { rateLimit } from 'sluice/express'
import type { Denial } from 'sluice/http'
import { z } from 'zod'
import { type Kind, kinds, name, parseEntity } from './data/entities.ts'
import { keys } from './data/read-data.ts'
import { recommend } from './decide/recommend.ts'
import type { Services } from './services.ts'

const question = z.object({
  customer_id: name,
  placement: z.string().default('web'),
  limit: z.number().int().min(1).max(100).default(3),
})

/** The routes. */
export function recommendApi(services: Services): Express {
  const { limiter, cache, database, settings, tracing } = services
  const app = express()
  app.disable('x-powered-by')
  // On each route, so that the rules know its pattern; before the parser, so that a broken body counts too.
  const limited = [
    rateLimit(limiter, {
      headers: 'x-ratelimit',
      onDenied: (denial) => (denial.status === 503 ? withStatus(denial, settings.closedStatus) : denial),
    }),
    express.json(),
  ]

  app.post('/v1/recommend', limited, async (request: Request, response: Response) => {
    const { customer_id: customer, placement, limit } = question.parse(request.body)
    const tenant = tenantOf(request)
    const startMs = performance.now()
    const answer = await tracing.decide({ tenant, customer }, (trace) =>
      recommend({ tenant, customer, placement, limit }, services, trace),
    )
    services.observe(performance.now() - startMs)
    response.json(answer)
  })

  /** Once it is, no replica answers with the old ones any more. While Redis is away it will be when that is back. */
  const isVisible = (key: CacheKey): Promise<boolean> =>
    cache.invalidate(key, { mode: 'strict' }).then(
      () => true,
      (error) => {
        if (error.code !== 'SLUICE_STORE_FAILED') throw error
        return false
      },
    )

  for (const kind of Object.keys(kinds) as Kind[])
    app.put(`/v1/${kind}/:id`, limited, async (request: Request, response: Response) => {
      const tenant = tenantOf(request)
      await database.save(tenant, kind, name.parse(request.params.id), parseEntity(kind, request.body))
      response.status((await isVisible(keys.active(tenant, kind))) ? 204 : 202).end()
    })

  app.use((error: Error & { status?: number }, _request: Request, response: Response, _next: NextFunction) => {
    if (error instanceof z.ZodError) {
      const [issue] = error.issues
      // An unknown field has no path.
      const detail = [...(issue!.path.length > 0 ? [issue!.path.join('.')] : []), issue!.message].join(': ')
      response.status(400).json({ title: 'Wrong input', detail })
    } else if (error.status !== undefined && error.status < 500) {
      response.status(error.status).json({ title: error.message })
    } else response.status(503).json({ title: 'Not available' })
  })
  return app
}

/** The rules refuse requests without it. */
const tenantOf = (request: Request): string => request.get('x-tenant-id')!

function withStatus<Decided>(denial: Denial<Decided>, status: number): Denial<Decided> {
  return { ...denial, status, body: JSON.stringify({ ...denial.problem, status }) }
}
