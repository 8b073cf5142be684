// One server of the proxy's bench: the vendor, a minimal forwarder, or the proxy with limits that are never reached.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { createEgress } from 'sluice/egress'
import { Agent, request as send } from 'undici'
import { startProxy } from '../../packages/server/dist/index.js'

const [kind, vendor = ''] = process.argv.slice(2)

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const body = JSON.stringify({ data: 'x'.repeat(500) })

const kinds: Record<string, () => Promise<string>> = {
  vendor: () =>
    listen((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    }),
  'pass-through': () => {
    const dispatcher = new Agent({ pipelining: 1 })
    return listen(async (request, response) => {
      const hasBody = request.headers['content-length'] !== undefined
      const { host: _, connection: __, ...headers } = request.headers
      const { method = 'GET', url = '/' } = request
      const about = { method: method as 'GET', headers, body: hasBody ? request : null, dispatcher }
      const reply = await send(vendor + url, about)
      response.writeHead(reply.statusCode, reply.headers as Record<string, string>)
      reply.body.pipe(response)
    })
  },
  async sluice() {
    const upstreams = [{ name: 'vendor', origin: vendor, limits: { amount: 1_000_000, per: '1s' } }]
    const egress = await createEgress({ policy: { service: 'bench', upstreams } })
    const config = {
      host: '127.0.0.1',
      port: 0,
      tokens: { current: [] },
      credentials: { current: {} },
      maxBodyBytes: 1e7,
      drainMs: 0,
    }
    // As in production, one log line per call.
    const log = pino(pino.destination({ dest: '/dev/null', sync: false }))
    return (await startProxy(egress, config, log)).url
  },
}

process.stdout.write(`${JSON.stringify({ url: await kinds[kind!]!() })}\n`)
