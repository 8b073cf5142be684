import { describe, expectTypeOf, it } from 'vitest'
import type { Limiter } from '../limiter/limiter.ts'
import * as express from './express/index.ts'
import type { FastifyOptions } from './fastify/index.ts'
import * as fetch from './fetch/index.ts'
import * as hono from './hono/index.ts'
import * as koa from './koa/index.ts'
import type { NestOptions } from './nest/index.ts'
import * as node from './node/index.ts'

// Only compiled: what matters is that the compiler accepts it.
const compiled = (limiter: Limiter): unknown[] => [
  express.rateLimit(limiter, {
    onDenied: (denial, { res }) => {
      res.status(denial.status).end()
    },
  }),
  express.rateLimit(limiter, {
    onDenied: async (_, { res }) => {
      res.status(429).end()
    },
  }),
  express.rateLimit(limiter, { onDenied: (denial) => ({ ...denial, body: '{}' }) }),
  koa.rateLimit(limiter, {
    onDenied: (_, ctx) => {
      ctx.status = 429
    },
  }),
  node.rateLimit(limiter, () => {}, {
    onDenied: (_, { res }) => {
      res.writeHead(429).end()
    },
  }),
  hono.rateLimit(limiter, { onDenied: (_, c) => c.text('no', 429) }),
  fetch.rateLimit(limiter, async () => new Response(), { onDenied: async () => new Response('no', { status: 429 }) }),
]

const fastify: FastifyOptions['onDenied'] = (_, { reply }) => {
  reply.code(429).send()
}
const nest: NestOptions['onDenied'] = () => {}

describe('onDenied', () => {
  it('may write the answer itself and return nothing, at once or later, or return a changed denial', () => {
    expectTypeOf(compiled).toBeFunction()
    expectTypeOf(fastify).not.toBeAny()
    expectTypeOf(nest).not.toBeAny()
  })

  it('may not return anything else', () => {
    // @ts-expect-error -- a status alone is no denial
    const wrong: NonNullable<FastifyOptions['onDenied']> = () => 429
    expectTypeOf(wrong).not.toBeAny()
  })
})
