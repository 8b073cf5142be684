// The daemon's framework with a handler that parses the same JSON and decides nothing.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.post('/v1/check', async (c) => {
  const { key, rule } = await c.req.json<{ key: string; rule: string }>()
  return c.json({ allowed: key !== '', rule })
})
const server = createAdaptorServer({ fetch: app.fetch }) as Server
await once(server.listen(0, '127.0.0.1'), 'listening')
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
