import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Egress, UpstreamResponse } from 'sluice/egress'
import { callIds, requestHeaders, responseHeaders } from './proxy-headers.ts'
import { answerProblem, type ProxyProblem, problemFor, problems } from './proxy-problem.ts'
import { requestBody } from './request-body.ts'
import { targetOf } from './target.ts'

export interface ProxyParts {
  readonly egress: Egress
  readonly log: Logger
  readonly isToken: (given: string | undefined) => boolean
  /** By upstream: headers with the vendor's credentials. */
  readonly credentials: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly maxBodyBytes: number
  readonly bodyIdleMs: number
  readonly isEnding: () => boolean
}

/** One error for all: making one for every call costs more than the rest of giving up. */
const clientGone = new Error('the client is gone')

const refusedMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Sends one request on, on a grant, and its response back. */
export async function handleRequest(
  parts: ProxyParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const begunMs = performance.now()
  const { egress, log, isEnding } = parts
  const ids = callIds(one(request.headers['x-request-id']), one(request.headers.traceparent))
  response.setHeader('x-request-id', ids.requestId)
  let upstream = ''
  let waitMs = 0
  let reason: string | undefined
  let bodyProblem: ProxyProblem | undefined
  const gone = new AbortController()
  response.once('close', () => {
    // Most responses close because they are complete.
    if (!response.writableFinished) gone.abort(clientGone)
  })
  try {
    const found = check(parts, request)
    if ('status' in found) {
      reason = found.reason
      answerProblem(response, found)
      return
    }
    upstream = found.upstream
    const body = requestBody(request, response, parts, (problem) => {
      bodyProblem = problem
      gone.abort(clientGone)
    })
    const reply = await egress.request({
      upstream,
      path: found.path,
      method: request.method ?? 'GET',
      headers: requestHeaders(request.rawHeaders, parts.credentials[upstream] ?? {}, ids),
      body,
      signal: gone.signal,
      sluice: tenantOf(request),
    })
    waitMs = reply.waitMs
    const { origin, pathPrefix } = egress.upstreams.find(({ name }) => name === upstream)!
    await passOn(reply, response, `${origin}${pathPrefix.replace(/\/$/, '')}`)
  } catch (error) {
    const isGone = gone.signal.aborted && bodyProblem === undefined
    const problem = isGone ? undefined : (bodyProblem ?? problemFor(error))
    reason = problem?.reason ?? (isEnding() ? problems.ending.reason : 'client-gone')
    if (problem === undefined || response.headersSent) response.destroy()
    else answerProblem(response, problem)
  } finally {
    // Never the query: vendors are given keys in it.
    const path = (request.url ?? '').replace(/\?.*/s, '').slice(0, 200)
    const durationMs = Math.round(performance.now() - begunMs)
    const { statusCode: status } = response
    log.info(
      {
        ...ids,
        traceparent: undefined,
        upstream,
        method: request.method,
        path,
        waitMs: Math.round(waitMs),
        durationMs,
        status,
        reason,
      },
      'call',
    )
  }
}

function check(
  { egress, isToken, isEnding, maxBodyBytes }: ProxyParts,
  request: IncomingMessage,
): { upstream: string; path: string } | ProxyProblem {
  if (isEnding()) return problems.ending
  if (refusedMethods.has(request.method ?? '')) return problems.method
  // A request of HTTP/0.9 has no end that two parsers agree on.
  if (request.httpVersionMajor !== 1) return problems.malformed
  if (!isToken(one(request.headers['x-internal-token']))) return problems.token
  if (/\bsluice\b/.test(one(request.headers.via) ?? '')) return problems.loop
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return problems.tooLarge
  const target = targetOf(
    request.url ?? '',
    egress.upstreams.map(({ name }) => name),
  )
  if (target === 'malformed') return problems.malformed
  return target === 'unknown-upstream' ? problems.unknown : target
}

async function passOn(reply: UpstreamResponse, response: ServerResponse, base: string): Promise<void> {
  const { body, status, rawHeaders, upstream } = reply
  response.writeHead(status, [
    'x-request-id',
    String(response.getHeader('x-request-id')),
    ...responseHeaders(rawHeaders, upstream, base),
  ])
  await new Promise<void>((resolve, reject) => {
    // What follows at once goes out together with the head; a head alone does not wait for it any longer.
    const flush = setImmediate(() => response.flushHeaders())
    body.once('error', reject)
    response.once('close', () => {
      clearImmediate(flush)
      if (!body.readableEnded) body.destroy()
      resolve()
    })
    body.on('data', (chunk: Buffer) => {
      if (!response.write(chunk)) {
        body.pause()
        response.once('drain', () => body.resume())
      }
    })
    body.once('end', () => {
      const { trailers } = reply
      if (Object.keys(trailers).length > 0) addTrailers(response, trailers)
      response.end()
    })
  })
}

function addTrailers(response: ServerResponse, trailers: Readonly<Record<string, string>>): void {
  try {
    response.addTrailers(trailers)
  } catch {
    // A name or value that Node refuses to send is left out; the body is complete.
  }
}

function tenantOf({ headers }: IncomingMessage): { tenant?: string } {
  const tenant = one(headers['x-sluice-tenant'])
  return tenant === undefined || tenant === '' ? {} : { tenant: tenant.slice(0, 200) }
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value
}
