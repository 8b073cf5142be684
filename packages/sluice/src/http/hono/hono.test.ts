import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance, type StartHttpApp } from '../../testing/http-conformance.ts'
import { listening } from '../../testing/http-listening.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { decisionOf, fetchGuard, rateLimit } from './index.ts'

const start: StartHttpApp = (limiter, { parsesBody: _, ...options }, own) => {
  const app = new Hono()
  app.use(rateLimit(limiter, options))
  app.get('/hello', (c) => c.text('hello'))
  app.get('/healthz', () => new Response('hello'))
  app.post('/echo', async (c) => c.json(await c.req.json().catch(() => null)))
  app.get('/decision', (c) => c.json(c.get('sluice')))
  app.get('/status/:code', (c) => new Response(null, { status: Number(c.req.param('code')) }))
  app.get('/bytes', (c) => c.text('x'.repeat(1000)))
  app.get('/hang', () => new Promise(() => {}))
  app.get('/own', rateLimit(limiter, own), (c) => c.text('hello'))
  app.onError((_, c) => c.text('fault', 500))
  return listening(createAdaptorServer({ fetch: app.fetch }) as Server)
}

httpConformance('Hono 4 on Node', start, { describe, it })

const startFetch: StartHttpApp = (limiter, { parsesBody: _, ...options }, own) => {
  type Env = { incoming: { socket: { remoteAddress?: string } } }
  const remoteAddress = (_: Request, env: Env) => env.incoming.socket.remoteAddress
  const ofOwn = fetchGuard(limiter, async (_: Request, __: Env) => new Response('hello'), {
    ...own,
    remoteAddress,
  })
  const handler = async (request: Request, env: Env): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname === '/echo') return Response.json(await request.json().catch(() => null))
    if (pathname === '/decision') return Response.json(decisionOf(request))
    if (pathname.startsWith('/status/')) return new Response(null, { status: Number(pathname.slice(8)) })
    if (pathname === '/bytes') return new Response('x'.repeat(1000))
    if (pathname === '/hang') return new Response(new ReadableStream())
    if (pathname === '/own') return ofOwn(request, env)
    return new Response(request.method === 'HEAD' ? null : 'hello')
  }
  const fetch = fetchGuard(limiter, handler, { ...options, remoteAddress })
  return listening(createAdaptorServer({ fetch: fetch as never, overrideGlobalObjects: false }) as Server)
}

httpConformance('a fetch-style handler', startFetch, { describe, it })

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
})

describe('fetchGuard()', () => {
  it('settles when the client goes away before there is a response', async () => {
    const rules = [{ name: 'api', key: 'const:all', limits: { rpm: 10 } }]
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const ends: unknown[] = []
    const chargeWhen = (end: unknown) => ends.push(end) < 0
    const client = new AbortController()
    const handle = fetchGuard(limiter, () => new Promise<Response>(() => {}), { chargeWhen })
    void handle(new Request('http://a.example/', { signal: client.signal }))
    const left = async () => (await limiter.peek('all')).limits[0]?.remaining
    await waitFor(async () => (await left()) === 9)
    client.abort()
    await waitFor(async () => (await left()) === 10)
    expect(ends).toEqual([{ status: 499, bytes: 0, completed: false }])
    await limiter.close()
  })

  it('settles when the handler throws', async () => {
    const rules = [{ name: 'api', key: 'const:all', limits: { rpm: 10 } }]
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const fault = new Error('fault')
    const handle = fetchGuard(limiter, () => Promise.reject(fault), { chargeWhen: ({ status }) => status < 500 })
    await expect(handle(new Request('http://a.example/'))).rejects.toBe(fault)
    await waitFor(async () => (await limiter.peek('all')).limits[0]?.remaining === 10)
    await limiter.close()
  })
})
