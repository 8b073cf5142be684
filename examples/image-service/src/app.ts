import { createHash } from 'node:crypto'
import express, { type Express } from 'express'
import { rateLimit } from 'sluice/express'
import type { Services } from './services.ts'
import { subjectOf } from './subject.ts'

const labels = ['cat', 'dog', 'bird', 'boat']

/** The routes. */
export function imageService({ limiter, registry, premiumKeys }: Services): Express {
  const app = express()
  app.disable('x-powered-by')
  app.get('/ready', async (_, response) => {
    const { ready, warnings } = await limiter.health()
    response.json({ ready: true, exact: ready, warnings, policy: limiter.policy.status })
  })
  app.get('/metrics', async (_, response) => {
    response.type('text/plain').send(await registry.metrics())
  })

  app.use(
    '/v1',
    rateLimit(limiter, {
      // Runs before the key is read; a body that it refuses is counted too.
      parseBody: express.json(),
      // The document has limits and no keys, so the service provides the key.
      key: (request) =>
        subjectOf({
          premium: premiumKeys.get(request.get('x-api-key') ?? ''),
          tenant: request.body?.tenant_id,
          model: request.body?.model_version,
          user: request.body?.user_id,
          address: request.ip ?? 'unknown',
        }),
    }),
  )
  app.post('/v1/classify', (request, response) => {
    const url = String(request.body?.image_url ?? '')
    if (url === '') {
      response.status(400).json({ title: 'image_url is missing' })
      return
    }
    // A real service calls a model here.
    response.json({ label: labels[createHash('sha256').update(url).digest()[0]! % labels.length] })
  })
  return app
}
