import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance, type StartHttpApp, statusIn } from '../../testing/http-conformance.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { listening } from '../testing/listening.ts'
import { decisionOf, rateLimit } from './index.ts'

const start: StartHttpApp = (limiter, { parsesBody: _, ...options }, own) => {
  type Env = { incoming: { socket: { remoteAddress?: string } } }
  const remoteAddress = (_: Request, env: Env) => env.incoming.socket.remoteAddress
  const ofOwn = rateLimit(limiter, async (_: Request, __: Env) => new Response('hello'), {
    ...own,
    remoteAddress,
  })
  const handler = async (request: Request, env: Env): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/query') return Response.json(Object.fromEntries(searchParams))
    if (pathname === '/echo') return Response.json(await request.json().catch(() => null))
    if (pathname === '/decision') return Response.json(decisionOf(request))
    if (pathname.startsWith('/status/')) return new Response(null, { status: statusIn(pathname.slice(8)) })
    if (pathname === '/bytes') return new Response('x'.repeat(1000))
    if (pathname === '/hang') return new Response(new ReadableStream())
    if (pathname === '/own') return ofOwn(request, env)
    if (pathname !== '/hello' && pathname !== '/healthz') return new Response(null, { status: 404 })
    return new Response(request.method === 'HEAD' ? null : 'hello')
  }
  const fetch = rateLimit(limiter, handler, { ...options, remoteAddress })
  const server = createAdaptorServer({ fetch: fetch as never, overrideGlobalObjects: false }) as Server
  return listening(server, fetch, ofOwn)
}

httpConformance({ describe, it }, { name: 'a fetch-style handler', start })

describe('rateLimit() for fetch-style handlers', () => {
  it('settles when the client goes away before there is a response', async () => {
    const rules = [{ name: 'api', key: 'const:all', limits: { rpm: 10 } }]
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const ends: unknown[] = []
    const chargeWhen = (end: unknown) => ends.push(end) * 0
    const client = new AbortController()
    const handle = rateLimit(limiter, () => new Promise<Response>(() => {}), { chargeWhen })
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
    const handle = rateLimit(limiter, () => Promise.reject(fault), { chargeWhen: ({ status }) => status < 500 })
    await expect(handle(new Request('http://a.example/'))).rejects.toBe(fault)
    await waitFor(async () => (await limiter.peek('all')).limits[0]?.remaining === 10)
    await limiter.close()
  })
})

it('refuses to be made without a handler, or with options in its place', () => {
  for (const handler of [undefined, { headers: 'none' }]) {
    expect(() => rateLimit({ limits: { rpm: 1 } }, handler as never)).toThrow('pass a function')
  }
})
