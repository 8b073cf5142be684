import { createServer, type IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance, type StartHttpApp, statusIn } from '../../testing/http-conformance.ts'
import { exchange } from '../../testing/http-exchange.ts'
import { listening } from '../testing/listening.ts'
import { type LimitedRequest, rateLimit } from './index.ts'

async function parseBody(req: IncomingMessage): Promise<unknown> {
  if (!/json/.test(req.headers['content-type'] ?? '')) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return undefined
  }
}

/** Handlers find the path in one of two ways. */
const cut = (target: string): string => target.split('?')[0] ?? ''
const resolved = (target: string): string =>
  URL.canParse(target, 'http://x') ? new URL(target, 'http://x').pathname : ''

const queryIn = (target: string): object => Object.fromEntries(new URL(target, 'http://x').searchParams)

const startWith =
  (pathOf: (target: string) => string): StartHttpApp =>
  (limiter, { parsesBody = true, ...options }, own) => {
    const onError = (_: unknown, __: unknown, res: { writeHead(status: number): { end(): unknown } }) =>
      void res.writeHead(500).end()
    const ofOwn = rateLimit(limiter, (_, res) => res.end('hello'), own)
    const handler = rateLimit(
      limiter,
      (req, res) => {
        const path = pathOf(req.url ?? '')
        if (path === '/hello' || path === '/healthz') res.end('hello')
        else if (path === '/echo') res.end(JSON.stringify(req.body ?? null))
        else if (path === '/query') res.end(JSON.stringify(queryIn(req.url ?? '')))
        else if (path === '/decision') res.end(JSON.stringify(req.sluice))
        else if (path.startsWith('/status/')) res.writeHead(statusIn(path.slice(8))).end()
        else if (path === '/bytes') res.end('x'.repeat(1000))
        else if (path === '/own') ofOwn(req, res)
        else if (path !== '/hang') res.writeHead(404).end()
      },
      { ...options, onError },
    )
    return listening(
      createServer(async (req: LimitedRequest, res) => {
        if (parsesBody) req.body = await parseBody(req)
        handler(req, res)
      }),
      handler,
      ofOwn,
    )
  }

httpConformance({ describe, it }, { name: 'plain Node', start: startWith(cut) })
httpConformance({ describe, it }, { name: 'plain Node with new URL()', start: startWith(resolved) })

describe('rateLimit() for plain Node', () => {
  it('reads the path of an absolute target', async () => {
    const rules = [{ name: 'item', match: { path: '/items' }, key: 'ip', limits: { rpm: 1 } }]
    const limiter = await createLimiter({ policy: { service: 'suite', rules } })
    const { port, close } = await listening(createServer(rateLimit(limiter, (_, res) => res.end())))
    try {
      expect((await exchange(port, '/items').answer).status).toBe(200)
      expect((await exchange(port, 'http://api.example/items?x').answer).status).toBe(429)
      expect((await exchange(port, '*', { method: 'OPTIONS' }).answer).status).toBe(200)
    } finally {
      await close()
      await limiter.close()
    }
  })

  it('answers 500 to a fault of the limiter by itself', async () => {
    const limiter = await createLimiter({ policy: { service: 'suite', rules: [{ name: 'a', limits: { rpm: 1 } }] } })
    const { port, close } = await listening(createServer(rateLimit(limiter, (_, res) => res.end(), { rule: 'b' })))
    try {
      expect((await exchange(port, '/').answer).status).toBe(500)
    } finally {
      await close()
      await limiter.close()
    }
  })
})

it('refuses to be made without a handler, or with options in its place', () => {
  for (const handler of [undefined, { headers: 'none' }]) {
    expect(() => rateLimit({ limits: { rpm: 1 } }, handler as never)).toThrow('pass a function')
  }
})
