import { createHash } from 'node:crypto'
import { answerErrors } from 'example-service'
import express, { type Express } from 'express'
import type { Limiter } from 'sluice'
import { rateLimit } from 'sluice/express'
import { modelVersion, rateLimitKey } from './rate-limit-key.ts'

const labels = ['cat', 'dog', 'bird', 'boat']

/** The routes. */
export function imageService({ limiter }: { readonly limiter: Limiter }): Express {
  const app = express()
  app.disable('x-powered-by')
  // The parser runs before the key is read; a body that it refuses is counted too.
  app.use('/v1', rateLimit(limiter, { parseBody: express.json(), key: ({ body }) => rateLimitKey(body) }))
  app.post('/v1/classify', (request, response) => {
    const url = String(request.body?.image_url ?? '')
    if (url === '') {
      response.status(400).json({ title: 'image_url is missing' })
      return
    }
    if (modelVersion(request.body) === undefined) {
      response.status(400).json({ title: 'there is no model of this version' })
      return
    }
    // A real service calls a model here.
    response.json({ label: labels[createHash('sha256').update(url).digest()[0]! % labels.length] })
  })
  app.use(answerErrors)
  return app
}
