import { createServer, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance, type StartHttpApp, statusIn } from '../../testing/http-conformance.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { listening } from '../testing/listening.ts'
import { rateLimit } from './index.ts'

const start: StartHttpApp = (limiter, { parsesBody: _, ...options }, own) => {
  const app = new Hono()
  const ofAll = rateLimit(limiter, options)
  const ofOwn = rateLimit(limiter, own)
  app.use(ofAll)
  app.get('/hello', (c) => c.text('hello'))
  app.get('/healthz', () => new Response('hello'))
  app.post('/echo', async (c) => c.json(await c.req.json().catch(() => null)))
  app.get('/query', (c) => c.json(c.req.query()))
  app.get('/decision', (c) => c.json(c.get('sluice')))
  app.get('/status/:code', (c) => new Response(null, { status: statusIn(c.req.param('code')) }))
  app.get('/bytes', (c) => c.text('x'.repeat(1000)))
  app.get('/hang', () => new Promise(() => {}))
  app.get('/own', ofOwn, (c) => c.text('hello'))
  app.onError((_, c) => c.text('fault', 500))
  return listening(createAdaptorServer({ fetch: app.fetch }) as Server, ofAll, ofOwn)
}

httpConformance({ describe, it }, { name: 'Hono 4 on Node', start })

describe('rateLimit() for Hono without Node', () => {
  const rules = [{ name: 'api', key: 'ip', limits: { rpm: 2 } }]
  const remoteAddress = () => '203.0.113.1'

  it('adds its headers to responses that cannot be changed', async () => {
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = new Hono()
    app.use(rateLimit(limiter, { remoteAddress }))
    app.get('/', () => Response.redirect('https://a.example/', 302))
    const first = await app.request('/')
    expect([first.status, first.headers.get('location')]).toEqual([302, 'https://a.example/'])
    expect(first.headers.get('ratelimit')).toMatch(/^"rpm";r=1;/)
    await app.request('/')
    const third = await app.request('/')
    expect(third.status).toBe(429)
    expect(third.headers.get('content-type')).toBe('application/problem+json')
    await limiter.close()
  })

  it('settles when a streamed body has been read, or given up', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ ...rules[0]!, limits: { rpm: 100 } }] },
    })
    const ends: unknown[] = []
    const app = new Hono()
    app.use(rateLimit(limiter, { remoteAddress, cost: 10, chargeWhen: (end) => ends.push(end) < 0 || end.bytes }))
    app.get('/', () => new Response('hello'))
    expect(await (await app.request('/')).text()).toBe('hello')
    await (await app.request('/')).body?.cancel()
    await waitFor(() => ends.length === 2)
    expect(ends).toEqual([
      { status: 200, bytes: 5, completed: true },
      { status: 200, bytes: expect.any(Number), completed: false },
    ])
    await waitFor(async () => ((await limiter.peek('203.0.113.1')).limits[0]?.remaining ?? 0) >= 90)
    await limiter.close()
  })

  it('knows the route of the handler that comes after it', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ name: 'api', key: 'route', limits: { rpm: 1 } }] },
    })
    const app = new Hono()
    app.use(rateLimit(limiter, { remoteAddress }))
    app.get('/a/:id', (c) => c.text('a'))
    app.get('/b', (c) => c.text('b'))
    const status = async (path: string) => (await app.request(path)).status
    expect([await status('/a/1'), await status('/a/2'), await status('/b'), await status('/b')]).toEqual([
      200, 429, 200, 429,
    ])
    // What no handler is for shares a bucket.
    expect([await status('/none'), await status('/other')]).toEqual([404, 429])
    await limiter.close()
  })

  it("may be answered with a response of one's own", async () => {
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = new Hono()
    app.use(
      rateLimit(limiter, { remoteAddress, cost: 3, onDenied: (denial, c) => c.text(`no: ${denial.status}`, 418) }),
    )
    app.get('/', (c) => c.text('hello'))
    const answer = await app.request('/')
    expect([answer.status, await answer.text()]).toEqual([418, 'no: 429'])
    await limiter.close()
  })

  it('may be answered with what fetch returned, which is not of the class that node-server puts in its place', async () => {
    const elsewhere = await listening(createServer((_, response) => void response.writeHead(418).end('from elsewhere')))
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = new Hono()
    app.use(rateLimit(limiter, { remoteAddress, cost: 3, onDenied: () => fetch(`http://127.0.0.1:${elsewhere.port}`) }))
    app.get('/', (c) => c.text('hello'))
    const { port, close } = await listening(createAdaptorServer({ fetch: app.fetch }) as Server)
    const answer = await fetch(`http://127.0.0.1:${port}`)
    expect(answer).not.toBeInstanceOf(Response)
    expect([answer.status, await answer.text()]).toEqual([418, 'from elsewhere'])
    await close()
    await elsewhere.close()
    await limiter.close()
  })
})
