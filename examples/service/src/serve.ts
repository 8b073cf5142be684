import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Registry } from 'prom-client'
import type { Env } from './env.ts'
import type { Log } from './main.ts'

export interface ServingOptions {
  /** The routes of the service. */
  readonly handler: RequestListener
  /** Whether requests can be answered, with whatever an operator should know. */
  ready(): Promise<{ readonly ready: boolean }>
  readonly registry: Registry
  readonly env: Env
  readonly log: Log
  readonly port: number
  /** After half of `DRAIN_MS`: refuses requests that still wait, and ends the rest within the other half. */
  hurry?(withinMs: number): Promise<unknown>
  /** Ends what the routes use, after the last request was answered. */
  close(): Promise<unknown>
}

export interface Serving {
  readonly url: string
  readonly metricsUrl: string
  /** Answers what was accepted, within `DRAIN_MS`, and ends. */
  stop(): Promise<void>
}

/**
 * Listens at `HOST` and `PORT`, with `/health` and `/ready` beside the routes. Metrics are on `METRICS_PORT`, so that
 * they are never public. SIGTERM and SIGINT drain; a second signal ends the process at once.
 */
export async function serve({
  handler,
  registry,
  env,
  log,
  port,
  ready,
  hurry,
  close,
}: ServingOptions): Promise<Serving> {
  const host = env.text('HOST', '0.0.0.0')
  const drainMs = env.whole('DRAIN_MS', 10_000)
  let isDraining = false
  /** The last response of each connection. */
  const last = new Map<Socket, ServerResponse>()
  const sendReady = async (response: ServerResponse): Promise<void> => {
    const failed = (error: Error) => ({ ready: false, reason: error.message })
    const state = isDraining ? { ready: false, reason: 'draining' } : await ready().catch(failed)
    sendJson(response, state.ready ? 200 : 503, { status: state.ready ? 'ready' : 'unhealthy', ...state })
  }
  const server = createServer((request, response) => {
    response.shouldKeepAlive &&= !isDraining
    last.set(request.socket, response)
    if (request.url === '/health') sendJson(response, 200, { status: 'healthy' })
    else if (request.url === '/ready') void sendReady(response)
    else handler(request, response)
  })
  server.on('connection', (socket) => socket.once('close', () => last.delete(socket)))
  const metrics = createServer(async (request, response) => {
    if (request.url !== '/metrics') return response.writeHead(404).end()
    return response.setHeader('content-type', registry.contentType).end(await registry.metrics())
  })
  const url = await listen(server, host, env.whole('PORT', port, ports))
  const metricsUrl = await listen(metrics, host, env.whole('METRICS_PORT', 9464, ports))
  log('started', { url, metricsUrl })

  const stop = async (): Promise<void> => {
    isDraining = true
    // `Connection: close`, so that clients send what comes next elsewhere, and none is cut off by the timer.
    for (const response of last.values()) response.shouldKeepAlive = false
    // http.Server.close would also cut connections that seem idle while a request is on its way.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
    const idle = setInterval(() => server.closeIdleConnections(), 100)
    const timers = [
      setTimeout(() => void hurry?.(drainMs / 2), drainMs / 2),
      setTimeout(() => server.closeAllConnections(), drainMs),
    ]
    await closed
    clearInterval(idle)
    timers.forEach(clearTimeout)
    metrics.close()
    metrics.closeAllConnections()
    await close()
    log('stopped')
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      for (const each of ['SIGINT', 'SIGTERM'] as const) process.once(each, () => process.exit(130))
      void stop().then(() => process.exit(0))
    })
  return { url, metricsUrl, stop }
}

const ports = { most: 65_535 }

async function listen(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const { port: chosen } = server.address() as AddressInfo
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${chosen}`
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
