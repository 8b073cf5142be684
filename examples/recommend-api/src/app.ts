import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { rateLimit } from 'sluice/express'
import type { Denial } from 'sluice/http'
import type { Offer } from './database.ts'
import { keys } from './keys.ts'
import { recommend, type Trace } from './recommend.ts'
import type { Services } from './services.ts'

/** The routes. */
export function recommendApi(services: Services): Express {
  const { limiter, cache, database, settings, registry, latency } = services
  const app = express()
  app.disable('x-powered-by')
  app.get('/metrics', async (_, response) => {
    response.type('text/plain').send(await registry.metrics())
  })
  app.get('/ready', async (_, response) => {
    const { ready, warnings } = await limiter.health()
    response.json({ ready: true, exact: ready, warnings, models: services.scoring.breakers.stats() })
  })

  app.use(
    '/v1',
    rateLimit(limiter, {
      headers: 'x-ratelimit',
      onDenied: (denial) => (denial.status === 503 ? withStatus(denial, settings.closedStatus) : denial),
    }),
  )
  // After the limiter: a body that cannot be parsed is counted like any other.
  app.use(express.json())

  app.post('/v1/recommend', async (request, response) => {
    const tenant = request.get('x-tenant-id')!
    const customer = String(request.body?.customer_id ?? '')
    if (customer === '') {
      response.status(400).json({ title: 'customer_id is missing' })
      return
    }
    const end = latency.startTimer({ tenant })
    const steps = new Map<string, unknown>()
    const isTraced = Math.random() < settings.traceSampleRate
    const trace: Trace = isTraced ? (step, found) => steps.set(step, found) : () => undefined
    const answer = await recommend(tenant, customer, services, trace)
    const seconds = end()
    if (isTraced) services.trace({ tenant, customer, seconds, ...Object.fromEntries(steps) })
    response.json(answer)
  })

  app.put('/v1/offers/:id', async (request, response) => {
    const tenant = request.get('x-tenant-id')!
    const offer: Offer = { model: 'default', weight: 1, mandatory: false, paced: false, segment: null, ...request.body }
    await database.saveOffer(tenant, { ...offer, id: request.params.id })
    // When this has returned, no replica answers with the old offers any more.
    await cache.invalidate(keys.offers(tenant), { mode: 'strict' })
    response.status(204).end()
  })

  app.post('/v1/guardrails/block/:offer', async (request, response) => {
    const tenant = request.get('x-tenant-id')!
    await database.blockOffer(tenant, request.params.offer)
    await cache.invalidate(keys.guardrails(tenant), { mode: 'strict' })
    response.status(204).end()
  })

  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(503).json({ title: 'Not available', detail: error.message })
  })
  return app
}

function withStatus<Decided>(denial: Denial<Decided>, status: number): Denial<Decided> {
  return { ...denial, status, body: JSON.stringify({ ...denial.problem, status }) }
}
