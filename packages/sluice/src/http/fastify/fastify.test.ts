import type { AddressInfo } from 'node:net'
import fastify, { type FastifyServerOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { SourceListener } from '../../policy/live/source.ts'
import { httpConformance, type StartHttpApp, statusIn } from '../../testing/http-conformance.ts'
import { closed } from '../testing/listening.ts'
import { rateLimit } from './index.ts'

const lenient = {
  useSemicolonDelimiter: true,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  caseSensitive: false,
}

const startWith =
  (server: FastifyServerOptions): StartHttpApp =>
  async (limiter, { parsesBody = true, ...options }, own) => {
    const app = fastify(server)
    await app.register(rateLimit, { limiter, ...options, ...(parsesBody ? {} : { hook: 'onRequest' as const }) })
    app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_, body, done) => done(null, body))
    for (const path of ['/hello', '/healthz']) app.get(path, async () => 'hello')
    app.post('/echo', async (request) => request.body)
    app.get('/query', async (request) => request.query)
    app.get('/decision', async (request) => request.sluice)
    app.get('/status/:code', async (request, reply) =>
      reply.code(statusIn((request.params as { code: string }).code)).send(),
    )
    app.get('/bytes', async () => 'x'.repeat(1000))
    app.get('/hang', () => {})
    app.get('/own', { config: { rateLimit: own } }, async () => 'hello')
    await app.listen({ port: 0, host: '127.0.0.1' })
    return {
      port: (app.server.address() as AddressInfo).port,
      close: async () => {
        await closed(app.server)
        await app.close()
      },
    }
  }

httpConformance({ describe, it }, { name: 'Fastify 5', start: startWith({}) })
httpConformance(
  { describe, it },
  { name: 'Fastify 5 that ends paths at a semicolon', start: startWith({ routerOptions: lenient }) },
)

describe('the plugin for Fastify', () => {
  const rules = [{ name: 'api', key: 'ip', limits: { rpm: 1 } }]

  it.each([
    [{ max: 100, timeWindow: '1m' }, "app.register(rateLimit, { limiter: { limits: { amount: 100, per: '1m' } } })"],
    [{ limits: { rpm: 100 } }, 'app.register(rateLimit, { limiter: { limits: ... } })'],
  ])('says how to write %j', async (options, written) => {
    const app = fastify()
    await expect(app.register(rateLimit, options as never)).rejects.toThrow(`write ${written}`)
    await app.close()
  })

  it('reaches the routes beside it, those in other plugins, and those that do not exist', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ ...rules[0]!, key: 'route ?? none' }] },
    })
    const app = fastify()
    await app.register(rateLimit, { limiter })
    app.get('/beside', async () => 'hello')
    await app.register(async (inner) => inner.get('/inside', async () => 'hello'))
    for (const [url, status] of [
      ['/beside', 200],
      ['/inside', 200],
      ['/nowhere', 404],
    ] as const) {
      expect((await app.inject(url)).statusCode).toBe(status)
      expect((await app.inject(url)).statusCode).toBe(429)
    }
    await app.close()
    await limiter.close()
  })

  it('leaves a route alone whose config says so', async () => {
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = fastify()
    await app.register(rateLimit, { limiter })
    app.get('/free', { config: { rateLimit: false } }, async (request) => ({ decision: request.sluice ?? null }))
    for (let i = 0; i < 3; i++) expect((await app.inject('/free')).json()).toEqual({ decision: null })
    await app.close()
    await limiter.close()
  })

  it('decides before the body is read, unless a rule reads it', async () => {
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = fastify()
    await app.register(rateLimit, { limiter })
    app.post('/', async () => 'hello')
    const payload = '{"broken'
    const headers = { 'content-type': 'application/json' }
    expect((await app.inject({ method: 'POST', url: '/', payload, headers })).statusCode).toBe(400)
    expect((await app.inject({ method: 'POST', url: '/', payload, headers })).statusCode).toBe(429)
    await app.close()
    await limiter.close()
  })

  it('reads bodies from the moment on that a live policy asks for it', async () => {
    let listener: SourceListener | undefined
    const version = (key: string) => ({
      document: { service: 'suite', rules: [{ name: 'api', key, limits: { rpm: 2 } }] },
      revision: undefined,
    })
    const limiter = await createLimiter({
      policy: {
        description: 'a test',
        start: async (given) => {
          listener = given
          return version('headers.x-none')
        },
        close: async () => {},
      },
    })
    const app = fastify()
    await app.register(rateLimit, { limiter })
    app.post('/', async () => 'hello')
    const post = async () => (await app.inject({ method: 'POST', url: '/', payload: { u: 'ann' } })).statusCode
    expect([await post(), await post(), await post()]).toEqual([200, 200, 200])
    const loaded = new Promise<void>((resolve) => limiter.on('policyLoaded', () => resolve()))
    listener!.changed(version('body.u'))
    await loaded
    expect([await post(), await post(), await post()]).toEqual([200, 200, 429])
    await app.close()
    await limiter.close()
  })

  it('counts requests whose body does not fit the schema', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ name: 'api', key: 'body.u', limits: { rpm: 2 } }] },
    })
    const app = fastify()
    await app.register(rateLimit, { limiter })
    app.post('/', { schema: { body: { type: 'object', required: ['v'] } } }, async () => 'hello')
    const post = async () => (await app.inject({ method: 'POST', url: '/', payload: { u: 'ann' } })).statusCode
    expect([await post(), await post(), await post()]).toEqual([400, 400, 429])
    await app.close()
    await limiter.close()
  })

  it('charges routes that were there before it as their config says', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ name: 'own', limits: { rpm: 1 } }] },
    })
    const app = fastify()
    app.get('/before', { config: { rateLimit: { rule: 'own', key: () => 'all' } } }, async () => 'hello')
    app.get('/free', { config: { rateLimit: false } }, async () => 'hello')
    await app.register(rateLimit, { limiter })
    const get = async (url: string) => (await app.inject(url)).statusCode
    expect([await get('/before'), await get('/before'), await get('/free'), await get('/free')]).toEqual([
      200, 429, 200, 200,
    ])
    await app.close()
    await limiter.close()
  })

  it('refuses another hook by name', async () => {
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = fastify()
    app.register(rateLimit, { limiter, hook: 'onSend' as never })
    await expect(app.ready()).rejects.toThrow(/hook is "onSend"/)
    await limiter.close()
  })
})
