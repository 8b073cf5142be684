import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { waitFor } from '../testing/wait-for.ts'
import * as ofFastify from './fastify/index.ts'
import * as ofKoa from './koa/index.ts'

type Start = (limiter: Limiter, before: () => Promise<void>) => Promise<{ port: number; close(): Promise<unknown> }>

/** Something asynchronous runs before the limiter, during which the client cancels; the handler never answers. */
const frameworks: Readonly<Record<string, Start>> = {
  Fastify: async (limiter, before) => {
    const app = fastify({ http2: true })
    app.addHook('onRequest', before)
    await app.register(ofFastify.rateLimit, { limiter })
    app.get('/', () => new Promise(() => {}))
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
  },
  Koa: async (limiter, before) => {
    const app = new Koa()
    app.silent = true
    app.use(async (_, next) => {
      await before()
      await next()
    })
    app.use(ofKoa.rateLimit(limiter))
    app.use((ctx) => new Promise((resolve) => ctx.res.once('close', resolve)))
    const server = createServer(app.callback())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return {
      port: (server.address() as AddressInfo).port,
      close: () => new Promise((resolve) => server.close(resolve)),
    }
  },
}

describe.each(Object.entries(frameworks))('streams of HTTP/2 on %s', (_, start) => {
  const rules = [{ name: 'places', key: 'const:all', limits: { amount: 50, algorithm: 'concurrency' as const } }]

  test.each(['before', 'after'] as const)(
    'give their places back when they are cancelled %s the decision',
    async (when) => {
      const limiter = await createLimiter({ policy: { service: 'suite', rules } })
      const reached: (() => void)[] = []
      const before = (): Promise<void> =>
        when === 'after' ? Promise.resolve() : new Promise((resolve) => reached.push(resolve))
      const app = await start(limiter, before)
      const session: ClientHttp2Session = connect(`http://127.0.0.1:${app.port}`)
      let decided = 0
      limiter.on('decided', () => decided++)
      const streams = Array.from({ length: 8 }, () => session.request({ ':path': '/' }).on('error', () => {}))
      try {
        await waitFor(() => (when === 'after' ? decided : reached.length) === 8)
        for (const stream of streams) stream.close(8 /* CANCEL */)
        await Promise.all(streams.map((stream) => stream.closed || once(stream, 'close')))
        // A ping that came back shows that the server has read everything before it.
        await new Promise((resolve) => session.ping(resolve))
        for (const resolve of reached) resolve()
        if (when === 'before') await waitFor(() => decided === 8)
        await waitFor(async () => (await limiter.inspect('all', { rule: 'places' })).holds.length === 0)
        expect((await limiter.inspect('all', { rule: 'places' })).limits[0]!.remaining).toBe(50)
      } finally {
        session.destroy()
        await app.close()
        await limiter.close()
      }
    },
  )
})
