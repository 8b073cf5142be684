import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono, type MiddlewareHandler } from 'hono'
import { rateLimiter as peer } from 'hono-rate-limiter'
import { rateLimit } from 'sluice/hono'
import { limiterFor } from '../limiter.ts'
import { plenty, type ServerSpec, staticBody } from '../spec.ts'
import { waitATurn } from '../waits.ts'

export async function startHono(spec: ServerSpec): Promise<Server> {
  const app = new Hono()
  app.use(await middlewareFor(spec))
  app.get('/', (c) => c.json({ hello: 'world' }))
  return (createAdaptorServer({ fetch: app.fetch }) as Server).listen(0, '127.0.0.1')
}

async function middlewareFor(spec: ServerSpec): Promise<MiddlewareHandler> {
  const isDenied = spec.situation.startsWith('denied')
  if (spec.role === 'sluice') return rateLimit(await limiterFor(spec))
  if (spec.role === 'peer') {
    const keyGenerator = (c: { env: unknown }): string =>
      (c.env as { incoming: { socket: { remoteAddress: string } } }).incoming.socket.remoteAddress
    const limit = isDenied ? 1 : plenty
    return peer({ windowMs: 86_400_000, limit, standardHeaders: 'draft-7', keyGenerator }) as MiddlewareHandler
  }
  return isDenied
    ? async () => new Response(staticBody, { status: 429, headers: { 'Content-Type': 'application/problem+json' } })
    : async (_, next) => {
        await waitATurn()
        await next()
      }
}
