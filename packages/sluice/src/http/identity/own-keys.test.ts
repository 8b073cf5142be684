import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import * as common from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { expect, test } from 'vitest'
import type { RequestView } from '../../policy/request-view.ts'
import { rateLimit as forExpress } from '../express/index.ts'
import { rateLimit as forFastify } from '../fastify/index.ts'
import { rateLimit as forHono } from '../hono/index.ts'
import { rateLimit as forKoa } from '../koa/index.ts'
import { RateLimitModule } from '../nest/index.ts'
import { rateLimit as forNode } from '../node/index.ts'

/** The document of an operator, who writes addresses as people do. */
const document = {
  _id: 'images',
  last_updated: '2026-01-01T00:00:00Z',
  general_rate_limit: { rpm: 100 },
  custom_rate_limits: { 'ip:127.0.0.1': { rpm: 2 } },
}
const options = { key: (_: unknown, { ip }: RequestView) => `ip:${ip}` }
const limiter = { policy: document as never }

class Hello {
  hello(): string {
    return ''
  }
}

async function listen(handler: RequestListener) {
  const server = createServer(handler).listen(0, '::')
  await once(server, 'listening')
  return server
}

test.each([
  [
    'express',
    () =>
      listen(
        express()
          .use(forExpress(limiter, options))
          .use((_, response) => void response.end()),
      ),
  ],
  [
    'koa',
    () =>
      listen(
        new Koa()
          .use(forKoa(limiter, options))
          .use((ctx) => {
            ctx.body = ''
          })
          .callback(),
      ),
  ],
  ['node', () => listen(forNode(limiter, (_, response) => void response.end(), options))],
  [
    'fastify',
    async () => {
      const app = fastify()
      await app.register(forFastify, { limiter, ...options })
      app.get('/', async () => '')
      await app.listen({ port: 0, host: '::' })
      return app.server
    },
  ],
  [
    'hono',
    async () => {
      const app = new Hono().use(forHono(limiter, options)).get('/', (c) => c.text(''))
      const server = serve({ fetch: app.fetch, port: 0, hostname: '::' })
      await once(server, 'listening')
      return server
    },
  ],
  [
    'nest',
    async () => {
      class App {}
      common.Controller()(Hello)
      common.Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello')!)
      common.Module({ imports: [RateLimitModule.forRoot({ limiter, ...options })], controllers: [Hello] })(App)
      const app = await NestFactory.create(App, { logger: false })
      await app.listen(0, '::')
      return app.getHttpServer() as Server
    },
  ],
])('%s: a key made in code has IPv4 clients of a socket for both as their IPv4 address', async (_, start) => {
  const server = await start()
  const { port } = server.address() as AddressInfo
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await fetch(`http://127.0.0.1:${port}/`)).status)
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
  expect(statuses).toEqual([200, 200, 429])
})
