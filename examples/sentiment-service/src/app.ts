import fastify, { type FastifyInstance } from 'fastify'
import type { Limiter } from 'sluice'
import { rateLimit } from 'sluice/fastify'
import { analyze, languages } from './analyze.ts'
import { rateLimitKey } from './rate-limit-key.ts'

interface Question {
  readonly text: string
  readonly language?: string
}

const question = {
  type: 'object',
  required: ['text'],
  // One spelling of each: the limits of a tenant are by language, and every other would have its own.
  properties: { text: { type: 'string', maxLength: 10_000 }, language: { enum: languages } },
}

export interface AppOptions {
  readonly limiter: Limiter
  readonly premiumKeys?: ReadonlySet<string>
  /** Proxies that say who the client is, as CIDR blocks. */
  readonly trustedProxies?: readonly string[]
}

/** The routes. */
export async function sentimentService(options: AppOptions): Promise<FastifyInstance> {
  const { limiter, premiumKeys = new Set(), trustedProxies = [] } = options
  const app = fastify()
  await app.register(rateLimit, {
    limiter,
    identity: { trustedProxies },
    // Once the body is parsed, as the key is read from it.
    hook: 'preValidation',
    key: ({ headers, body }, { ip }) => rateLimitKey({ headers, body, ip }, premiumKeys),
  })
  app.post<{ Body: Question }>('/v1/analyze', { schema: { body: question } }, async ({ body }) =>
    analyze(body.text, body.language ?? 'en'),
  )
  await app.ready()
  return app
}
