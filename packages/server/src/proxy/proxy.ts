import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import type { Egress } from 'sluice/egress'
import type { IdentityOptions } from 'sluice/http'
import type { Credentials } from '../config/secrets/credentials.ts'
import { contextOf, type Tls } from '../config/secrets/tls.ts'
import type { NamedToken } from '../config/secrets/tokens.ts'
import type { Current, FileBacked } from '../connections/file-backed.ts'
import { oneHost } from '../http/access/one-host.ts'
import { drain } from '../http/listen/drain.ts'
import { HttpProblem, problemAnswer } from '../http/problem.ts'
import { readiness } from '../http/ready.ts'
import { ProxiedCall } from './proxied-call.ts'
import { Callers, OpenCalls, type ProxyParts } from './proxy-parts.ts'

export interface ProxyConfig {
  readonly host: string
  readonly port: number
  /** Tokens of internal callers; none means that every client that can connect may call. */
  readonly tokens: Current<readonly NamedToken[]>
  /** Which proxies in front may tell the address of a caller; none when left out. */
  readonly trusted?: IdentityOptions
  readonly credentials: Current<Credentials>
  readonly maxBodyBytes: number
  /** How long calls that were accepted get to end. */
  readonly drainMs: number
  /** How long a caller may pause while it sends a body; 30 s when left out. */
  readonly bodyIdleMs?: number
  /** How long a caller may read nothing of a response; 60 s when left out. */
  readonly readIdleMs?: number
  /** By when the head of a request must be complete; 10 s when left out. */
  readonly headMs?: number
  /** Callers must use TLS. */
  readonly tls?: FileBacked<Tls> | undefined
  /** What `GET /metrics` answers; without it, that path goes to the upstream. */
  readonly metrics?: OwnPages['metrics']
}

/** A proxy that listens. */
export interface RunningProxy {
  readonly url: string
  readonly port: number
  /** How many calls are being answered. */
  readonly open: number
  /**
   * Answers what was accepted, refuses new calls with 503 meanwhile, and stops; after `drainMs` it stops regardless.
   */
  close(): Promise<void>
}

const limits: ServerOptions = {
  insecureHTTPParser: false,
  maxHeaderSize: 64 * 1024,
  keepAliveTimeout: 65_000,
  // A call may wait for its grant before its body is read.
  requestTimeout: 0,
}

/** Serves upstreams as a reverse proxy: every call waits for its grant. */
export async function startProxy(egress: Egress, config: ProxyConfig, log: Logger): Promise<RunningProxy> {
  const { tokens, trusted, maxBodyBytes, bodyIdleMs = 30_000, readIdleMs = 60_000, metrics, drainMs } = config
  const credentials = (upstream: string) => config.credentials.current[upstream]
  const calls = new OpenCalls()
  const isEnding = (): boolean => calls.isEnding
  const callers = new Callers(tokens, log, trusted)
  const parts: ProxyParts = { egress, log, calls, callers, credentials, maxBodyBytes, bodyIdleMs, readIdleMs }
  const pages: OwnPages = { egress, isEnding, metrics }
  const answer: RequestListener = (request, response) => {
    const page = request.method === 'GET' ? ownPage(pages, request.url ?? '') : undefined
    if (page === undefined) new ProxiedCall(parts, request, response).start()
    else void page.then(({ status, headers, body }) => response.writeHead(status, headers).end(body))
  }
  const server = listener(config, oneHost(answer))
  // Without a listener Node would only close the connection, and a client would retry.
  server.on('connect', (_, socket) => {
    socket.on('error', () => {})
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })
  server.listen(config.port, config.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const host = config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host
  let closing: Promise<void> | undefined
  return {
    url: `${config.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    get open() {
      return calls.size
    },
    close() {
      // It keeps listening while there are calls, so that new ones are answered with 503 instead of a closed
      // connection.
      closing ??= calls.end(drainMs).then(() => drain(server, 1000))
      return closing
    },
  }
}

function listener({ tls, headMs = 10_000 }: ProxyConfig, answer: RequestListener): Server {
  // Node checks connections at an interval, so a slow head is cut off up to a fifth of the time later.
  const options = { ...limits, headersTimeout: headMs, connectionsCheckingInterval: Math.ceil(headMs / 5) }
  if (tls === undefined) return createServer(options, answer)
  const secure = { ...contextOf(tls.current), requestCert: tls.current.clientCa !== undefined }
  const server: SecureServer = createSecureServer({ ...options, ...secure }, answer)
  server.once(
    'close',
    tls.onChange((next) => server.setSecureContext(contextOf(next))),
  )
  return server
}

/** What the proxy answers itself. */
interface OwnPages {
  readonly egress: Egress
  readonly isEnding: () => boolean
  readonly metrics: { readonly contentType: string; text(): Promise<string> } | undefined
}

interface OwnPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The proxy's own answer to a GET: `/health`, `/ready` and `/metrics`. Undefined when the request is a call. */
function ownPage({ egress, isEnding, metrics }: OwnPages, url: string): Promise<OwnPage> | undefined {
  if (url === '/health') return Promise.resolve(json(200, { ok: true }))
  if (url === '/ready')
    return readiness(isEnding(), egress.health()).then((health) => json(health.ready ? 200 : 503, health))
  if (url !== '/metrics' || metrics === undefined) return undefined
  return metrics.text().then(
    (body) => ({ status: 200, headers: { 'content-type': metrics.contentType }, body }),
    () => problemAnswer(new HttpProblem(500, 'The metrics cannot be read.')),
  )
}

function json(status: number, body: unknown): OwnPage {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
