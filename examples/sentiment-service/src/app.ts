import fastify, { type FastifyInstance } from 'fastify'
import { rateLimit } from 'sluice/fastify'
import { analyze } from './analyze.ts'
import type { Services } from './services.ts'

interface Question {
  readonly text: string
  readonly language?: string
}

const question = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', maxLength: 10_000 }, language: { type: 'string' } },
}

/** The routes. */
export async function sentimentService({ limiter, registry, premiumKeys }: Services): Promise<FastifyInstance> {
  const app = fastify()
  app.get('/ready', async () => {
    const { ready, warnings } = await limiter.health()
    // Without Redis requests are let through, so the service stays ready.
    return { ready: true, exact: ready, warnings, policy: limiter.policy.status }
  })
  app.get('/metrics', async (_, reply) => reply.type('text/plain').send(await registry.metrics()))

  await app.register(async (v1) => {
    await v1.register(rateLimit, {
      limiter,
      // Only a known key makes a request premium: an invented one must not open a new bucket.
      context: (request) => ({ premium: premiumKeys.get(String(request.headers['x-api-key'])) }),
    })
    v1.post<{ Body: Question }>('/v1/analyze', { schema: { body: question } }, async ({ body }) =>
      analyze(body.text, body.language?.toLowerCase() ?? 'en'),
    )
  })
  return app
}
