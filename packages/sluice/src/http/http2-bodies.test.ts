import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import fastify from 'fastify'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { Limiter } from '../limiter/limiter.ts'
import * as ofFastify from './fastify/index.ts'
import * as ofKoa from './koa/index.ts'
import * as ofNode from './node/index.ts'

const listen = async (server: Server): Promise<Server> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** The handler reads a body that nothing has parsed before. */
const frameworks: Readonly<Record<string, (limiter: Limiter) => Promise<Server>>> = {
  'node:http2': (limiter) =>
    listen(createServer(ofNode.rateLimit(limiter, async (req, res) => res.end(await text(req))) as never)),
  Koa: (limiter) => {
    const app = new Koa()
    app.use(ofKoa.rateLimit(limiter)).use(async (ctx) => {
      ctx.body = await text(ctx.req)
    })
    return listen(createServer(app.callback()))
  },
  'Fastify, before it parses': async (limiter) => {
    const app = fastify({ http2: true })
    await app.register(ofFastify.rateLimit, { limiter, hook: 'onRequest' })
    app.all('/', async (request) => request.body)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server as unknown as Server
  },
  'Fastify that leaves bodies to the handler': async (limiter) => {
    const app = fastify({ http2: true })
    await app.register(ofFastify.rateLimit, { limiter })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    app.all('/', async (request) => (request.method === 'GET' ? '' : text(request.body as NodeJS.ReadableStream)))
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server as unknown as Server
  },
}

describe.each(Object.entries(frameworks))('a body over HTTP/2, whose length nobody says, on %s', (_, start) => {
  test.each([{ match: { body: { action: 'login' } }, key: 'ip' }, { key: 'body.action' }])(
    'does not bypass the rule %j',
    async (rule) => {
      const limiter = await createLimiter({
        policy: { service: 'suite', rules: [{ name: 'login', limits: { amount: 2, per: '1d' }, ...rule }] },
      })
      const server = await start(limiter)
      const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const ask = async (method: string): Promise<number> => {
        const headers = { ':method': method, ':path': '/', 'content-type': 'application/json' }
        const stream = session.request(headers, { endStream: method === 'GET' })
        if (method !== 'GET') stream.end('{"action":"login"}')
        const [answer] = await once(stream, 'response')
        stream.resume()
        await once(stream, 'end')
        return answer[':status']
      }
      try {
        const statuses: number[] = []
        for (const method of ['POST', 'POST', 'POST', 'GET', 'GET', 'GET']) statuses.push(await ask(method))
        expect(statuses).toEqual([200, 200, 429, 200, 200, 200])
      } finally {
        session.destroy()
        server.close()
        await limiter.close()
      }
    },
  )
})
