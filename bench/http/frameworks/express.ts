import { createServer, type Server } from 'node:http'
import express, { type RequestHandler } from 'express'
import { rateLimit as peer } from 'express-rate-limit'
import { Redis } from 'ioredis'
import { RedisStore } from 'rate-limit-redis'
import { rateLimit } from 'sluice/express'
import { limiterFor } from '../limiter.ts'
import { plenty, type ServerSpec, staticBody } from '../spec.ts'
import { waitATurn } from '../waits.ts'

export async function startExpress(spec: ServerSpec): Promise<Server> {
  const app = express()
  app.set('env', 'production')
  app.use(await middlewareFor(spec))
  app.get('/', (_, res) => {
    res.json({ hello: 'world' })
  })
  return createServer(app).listen(0, '127.0.0.1')
}

async function middlewareFor(spec: ServerSpec): Promise<RequestHandler> {
  const isDenied = spec.situation.startsWith('denied')
  if (spec.role === 'sluice') return rateLimit(await limiterFor(spec))
  if (spec.role === 'peer') {
    const limit = isDenied ? 1 : plenty
    return peer({ windowMs: 86_400_000, limit, standardHeaders: 'draft-8', legacyHeaders: false, ...peerStore(spec) })
  }
  return isDenied
    ? (_, res) => {
        res.statusCode = 429
        res.setHeader('Content-Type', 'application/problem+json')
        res.end(staticBody)
      }
    : (_, __, next) => {
        waitATurn().then(() => next(), next)
      }
}

function peerStore({ situation, redisUrl }: ServerSpec): { store?: RedisStore } {
  if (situation !== 'allowed on Redis') return {}
  const client = new Redis(redisUrl)
  return { store: new RedisStore({ sendCommand: (...args) => client.call(...(args as [string])) as Promise<never> }) }
}
