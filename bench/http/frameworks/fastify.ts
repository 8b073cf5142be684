import type { Server } from 'node:http'
import peer from '@fastify/rate-limit'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import { rateLimit } from 'sluice/fastify'
import { limiterFor } from '../limiter.ts'
import { plenty, type ServerSpec, staticBody } from '../spec.ts'
import { waitATurn } from '../waits.ts'

export async function startFastify(spec: ServerSpec): Promise<Server> {
  const app = fastify()
  const isDenied = spec.situation.startsWith('denied')
  if (spec.role === 'sluice') await app.register(rateLimit, { limiter: await limiterFor(spec) })
  else if (spec.role === 'peer') {
    const redis = spec.situation === 'allowed on Redis' ? { redis: new Redis(spec.redisUrl) } : {}
    await app.register(peer, { max: isDenied ? 1 : plenty, timeWindow: '1 day', ...redis })
  } else if (isDenied) {
    app.addHook('onRequest', (_, reply) => {
      reply.code(429).header('content-type', 'application/problem+json').send(staticBody)
    })
  } else {
    app.addHook('onRequest', (_, __, done) => {
      waitATurn().then(() => done(), done)
    })
  }
  app.get('/', (_, reply) => {
    reply.send({ hello: 'world' })
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}
