import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Hono } from 'hono'
import type { ServerConfig } from '../../config/config.ts'
import { contextOf } from '../../config/secrets/tls.ts'
import type { NodeEnv } from '../access/access.ts'
import { oneHost } from '../access/one-host.ts'
import { drain } from './drain.ts'

/** An HTTP server that listens. */
export interface HttpListener {
  /** Where a browser on this machine finds it. */
  readonly url: string
  /** What it listens on: `0.0.0.0:8440`. */
  readonly address: string
  readonly port: number
  /** Stops accepting, answers what was accepted, and ends; after `drainMs` it ends regardless. */
  close(drainMs: number): Promise<void>
}

type ListenConfig = Pick<ServerConfig, 'host' | 'port' | 'portGiven' | 'tls'>

/** Serves the API with bounds on headers and on time. */
export async function listenHttp(app: Hono<NodeEnv>, config: ListenConfig, otherPort: boolean): Promise<HttpListener> {
  const { tls } = config
  const secure = tls && { ...contextOf(tls.current), requestCert: tls.current.clientCa !== undefined }
  const answer = (next: RequestListener): RequestListener => oneHost(withDefaultHeaders(next))
  const server = createAdaptorServer({
    fetch: app.fetch as never,
    // For HTTP/1.0, which knows no Host header: health checks of load balancers speak it.
    hostname: urlHost(config.host),
    createServer: ((options: object, next: RequestListener) =>
      secure ? createSecureServer(options, answer(next)) : createServer(options, answer(next))) as never,
    serverOptions: {
      ...secure,
      // Proxies pass on whatever their clients may send them: nginx up to 32 KiB.
      maxHeaderSize: 64 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      // Node looks for connections that are too slow only this often; the default of 30 s would quadruple the timeout
      // above.
      connectionsCheckingInterval: 2000,
      keepAliveTimeout: 65_000,
    } as never,
  }) as Server
  const unfollow = tls?.onChange((next) => (server as SecureServer).setSecureContext(contextOf(next)))
  await listen(server, config, otherPort)
  const { port } = server.address() as AddressInfo
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return {
    url: `${secure === undefined ? 'http' : 'https'}://${urlHost(config.host)}:${port}`,
    address: `${host}:${port}`,
    port,
    close(drainMs) {
      unfollow?.()
      return drain(server, drainMs)
    },
  }
}

/**
 * Answers are not sniffed for another type, not shown inside another site, and not cached; a route may say otherwise.
 * Set on the response of Node, as an object of headers for each answer would cost more.
 */
function withDefaultHeaders(next: RequestListener): RequestListener {
  return (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff')
    response.setHeader('cross-origin-resource-policy', 'same-origin')
    response.setHeader('cache-control', 'no-store')
    response.setHeader('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    next(request, response)
  }
}

async function listen(server: Server, { host, port, portGiven }: ListenConfig, otherPort: boolean): Promise<void> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    if (portGiven || !otherPort || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    // Nobody asked for this very port, so another one will do.
    server.listen(0, host)
    await once(server, 'listening')
  }
}

/** An address that a browser on this machine can open. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
