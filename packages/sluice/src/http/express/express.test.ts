import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import express from 'express'
import { describe, expect, it } from 'vitest'
import type { Guard } from '../../admission/guard.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance, type StartHttpApp, statusIn } from '../../testing/http-conformance.ts'
import { exchange } from '../../testing/http-exchange.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { allOf, limiterGuard, passed, refusal } from '../index.ts'
import { listening } from '../testing/listening.ts'
import { protect, rateLimit } from './index.ts'

// Express 4 brings no types; what is used here is the same.
const express4 = createRequire(import.meta.url)('express4') as typeof express

const startWith =
  (make: typeof express): StartHttpApp =>
  (limiter, { parsesBody = true, ...options }, own) => {
    const app = make()
    app.set('env', 'test')
    const ofAll = rateLimit(limiter, { ...options, ...(parsesBody ? { parseBody: make.json() } : {}) })
    const ofOwn = rateLimit(limiter, own)
    app.use(ofAll)
    if (parsesBody) app.use(make.json())
    app.get(['/hello', '/healthz'], (_, res) => void res.send('hello'))
    app.post('/echo', (req, res) => void res.json(req.body ?? null))
    app.get('/query', (req, res) => void res.json(req.query))
    app.get('/decision', (req, res) => void res.json(req.sluice))
    app.get('/status/:code', (req, res) => void res.status(statusIn(req.params.code)).end())
    app.get('/bytes', (_, res) => void res.send('x'.repeat(1000)))
    app.get('/hang', () => {})
    app.get('/own', ofOwn, (_, res) => void res.send('hello'))
    return listening(createServer(app), ofAll, ofOwn)
  }

httpConformance({ describe, it }, { name: 'Express 5', start: startWith(express) })
httpConformance({ describe, it }, { name: 'Express 4', start: startWith(express4) })

describe.each([
  ['5', express],
  ['4', express4],
])('rateLimit() in a router of Express %s', (_, make) => {
  it('sees the whole path, the route and its parameters', async () => {
    const rules = [{ name: 'item', match: { path: '/api/items/*' }, key: ['route', 'params.id'], limits: { rpm: 1 } }]
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = make()
    const router = make.Router()
    router.get('/items/:id', rateLimit(limiter), (req, res) => void res.json(req.params))
    app.use('/api', router)
    const { port, close } = await listening(createServer(app))
    const statusOf = async (path: string) => (await exchange(port, path).answer).status
    try {
      expect(await statusOf('/api/items/1')).toBe(200)
      expect(await statusOf('/api/items/1?again')).toBe(429)
      expect(await statusOf('/api/items/2')).toBe(200)
      const { key } = await limiter.inspect(['/api/items/:id', '1'])
      expect((await limiter.inspect(['/api/items/:id', '1'])).limits[0]?.remaining, key).toBe(0)
    } finally {
      await close()
      await limiter.close()
    }
  })
})

describe('a denial that streams its own answer', () => {
  it('is not ended by the usual one when the callback returns the response', async () => {
    const onDenied = (_: unknown, { res }: { res: express.Response }) =>
      Readable.from(['calm ', 'down']).pipe(res) as never
    const limit = rateLimit({ limits: { rpm: 1 } }, { onDenied })
    const app = express().use(limit)
    app.get('/', (_, res) => void res.send('hello'))
    const { port, close } = await listening(createServer(app), limit)
    try {
      await exchange(port, '/').answer
      expect((await exchange(port, '/').answer).body).toBe('calm down')
    } finally {
      await close()
    }
  })
})

describe('a key by route in middleware of the whole app', () => {
  it('is one bucket for all, never none', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ name: 'api', key: 'route', limits: { rpm: 1 } }] },
    })
    const app = express()
    app.use(rateLimit(limiter))
    app.get('/a', (_, res) => void res.send('a'))
    const { port, close } = await listening(createServer(app))
    expect((await exchange(port, '/a').answer).status).toBe(200)
    expect((await exchange(port, '/a').answer).status).toBe(429)
    await close()
    await limiter.close()
  })
})

describe('a key by a function that reads the body', () => {
  it('has the body, and counts what the parser refuses', async () => {
    const limiter = await createLimiter({ limits: { rpm: 1 } })
    const app = express()
    const key = (req: express.Request): string => req.body?.user ?? 'nobody'
    app.use(rateLimit(limiter, { parseBody: express.json(), key }))
    app.post('/', (req, res) => void res.send(req.body.user))
    const { port, close } = await listening(createServer(app))
    const post = async (body: string): Promise<number> =>
      (
        await fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
      ).status
    expect([await post('{"user":"a"}'), await post('{"user":"a"}'), await post('{"user":"b"}')]).toEqual([
      200, 429, 200,
    ])
    expect([await post('{'), await post('{')]).toEqual([400, 429])
    await close()
    await limiter.close()
  })
})

describe('protect() for Express', () => {
  it('asks any guards, in order, and tells them how the response ended', async () => {
    const limiter = await createLimiter({
      policy: { service: 'suite', rules: [{ name: 'api', key: 'ip', limits: { rpm: 2 } }] },
    })
    const ends: unknown[] = []
    const counting: Guard<express.Request> = {
      decide: async (view) =>
        view.path === '/closed'
          ? refusal({ type: 'about:blank', title: 'Closed', status: 503 }, [['Retry-After', '9']], undefined)
          : { ...passed, finish: (end) => ends.push(end) },
    }
    const app = express()
    app.use(protect(allOf(counting, limiterGuard(limiter))))
    app.get('/', (req, res) => void res.send(`${req.sluice?.limits[0]?.remaining}`))
    const { port, close } = await listening(createServer(app))
    const ask = (path: string) => exchange(port, path).answer
    expect([(await ask('/')).body, (await ask('/')).body, (await ask('/')).status]).toEqual(['1', '0', 429])
    const closed = await ask('/closed')
    expect([closed.status, closed.headers['retry-after'], JSON.parse(closed.body).title]).toEqual([503, '9', 'Closed'])
    await waitFor(() => ends.length === 3)
    expect(ends).toContainEqual({ status: 200, bytes: 1, completed: true })
    expect(ends).toContainEqual({ status: 429, bytes: 0, completed: true })
    await close()
    await limiter.close()
  })
})
