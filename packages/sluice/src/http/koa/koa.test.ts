import { createServer } from 'node:http'
import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance, type StartHttpApp, statusIn } from '../../testing/http-conformance.ts'
import { exchange } from '../../testing/http-exchange.ts'
import { listening } from '../testing/listening.ts'
import { rateLimit } from './index.ts'

const start: StartHttpApp = (limiter, { parsesBody = true, ...options }, own) => {
  const app = new Koa()
  app.silent = true
  const ofAll = rateLimit(limiter, { ...options, ...(parsesBody ? { parseBody: bodyParser() } : {}) })
  app.use(ofAll)
  if (parsesBody) app.use(bodyParser())
  const ofOwn = rateLimit(limiter, own)
  app.use(async (ctx, next) => {
    if (ctx.path === '/hello' || ctx.path === '/healthz') ctx.body = 'hello'
    else if (ctx.path === '/echo') ctx.body = ctx.request.body ?? {}
    else if (ctx.path === '/query') ctx.body = ctx.query
    else if (ctx.path === '/decision') ctx.body = ctx.state.sluice
    else if (ctx.path.startsWith('/status/')) {
      ctx.status = statusIn(ctx.path.slice(8))
      ctx.body = null
      ctx.status = statusIn(ctx.path.slice(8))
    } else if (ctx.path === '/bytes') ctx.body = 'x'.repeat(1000)
    else if (ctx.path === '/hang') await new Promise((resolve) => ctx.res.once('close', resolve))
    else if (ctx.path === '/own') {
      await ofOwn(ctx, async () => {
        ctx.body = 'hello'
      })
    } else await next()
  })
  return listening(createServer(app.callback()), ofAll, ofOwn)
}

httpConformance({ describe, it }, { name: 'Koa 3', start })

describe('rateLimit() for Koa', () => {
  it('keeps its headers when the handler throws', async () => {
    const rules = [{ name: 'api', key: 'ip', limits: { rpm: 5 } }]
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const app = new Koa()
    app.silent = true
    app.use(rateLimit(limiter))
    app.use((ctx) => ctx.throw(401, 'no', { headers: { 'X-Own': 'kept' } }))
    const { port, close } = await listening(createServer(app.callback()))
    const { status, headers } = await exchange(port, '/').answer
    expect([status, headers['ratelimit-policy'], headers['x-own']]).toEqual([401, '"rpm";q=5;w=60', 'kept'])
    await close()
    await limiter.close()
  })
})
