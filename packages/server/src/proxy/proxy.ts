import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import type { Egress } from 'sluice/egress'
import { drain } from '../http/listen.ts'
import { handleRequest, type ProxyParts } from './handle-request.ts'
import { tokenCheck } from './internal-token.ts'

export interface ProxyConfig {
  readonly host: string
  readonly port: number
  /** Tokens of internal callers; none means that anybody who can connect may call. */
  readonly tokens: readonly string[]
  readonly credentials: ProxyParts['credentials']
  readonly maxBodyBytes: number
  /** How long calls that were accepted get to end. */
  readonly drainMs: number
}

/** A proxy that listens. */
export interface RunningProxy {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Serves upstreams as a reverse proxy: every call waits for its grant. */
export async function startProxy(egress: Egress, config: ProxyConfig, log: Logger): Promise<RunningProxy> {
  let ending = false
  const { tokens, credentials, maxBodyBytes } = config
  const parts: ProxyParts = {
    egress,
    log,
    isToken: tokenCheck(tokens),
    credentials,
    maxBodyBytes,
    isEnding: () => ending,
  }
  const server = createServer(
    {
      insecureHTTPParser: false,
      maxHeaderSize: 64 * 1024,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 2000,
      keepAliveTimeout: 65_000,
      // A call may wait for its grant before its body is read.
      requestTimeout: 0,
    },
    (request, response) => {
      const health = request.method === 'GET' ? healthOf(egress, request.url ?? '', ending) : undefined
      if (health === undefined) void handleRequest(parts, request, response)
      else response.writeHead(health.status, { 'content-type': 'application/json' }).end(JSON.stringify(health.body))
    },
  )
  // Without a listener Node would only close the connection, and a client would try again.
  server.on('connect', (_, socket) =>
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
  )
  server.listen(config.port, config.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const host = config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    async close() {
      ending = true
      await drain(server, config.drainMs)
    },
  }
}

function healthOf(egress: Egress, url: string, ending: boolean): { status: number; body: unknown } | undefined {
  if (url === '/health') return { status: 200, body: { ok: true } }
  if (url !== '/ready') return undefined
  const { ready, reason, warnings } = egress.health()
  const isReady = ready && !ending
  return { status: isReady ? 200 : 503, body: { ready: isReady, reason: ending ? 'closed' : reason, warnings } }
}
