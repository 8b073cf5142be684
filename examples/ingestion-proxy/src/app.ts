import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { answerErrors, type Log } from 'example-service'
import express, { type Express, type Request, type Response } from 'express'
import { type Egress, RefusedError, UpstreamError } from 'sluice/egress'
import type { ProxySettings } from './settings.ts'

/** The proxy: one route, behind a token, whose calls wait first in, first out for the vendor's limit. */
export function ingestionProxy(egress: Egress, settings: ProxySettings, log: Log): Express {
  const { endpoint, authorization, tokens } = settings
  const app = express()
  app.disable('x-powered-by')

  app.post('/graphql', requireToken(tokens), express.json({ limit: '1mb' }), async (request, response) => {
    const startMs = performance.now()
    const traceId = request.get('x-trace-id') ?? randomUUID()
    const { depth: queueDepth } = egress.stats()[0]!
    const written = (event: string, statusCode: number, more: object = {}): void => {
      const duration = Math.round(performance.now() - startMs)
      const { operationName = null } = (request.body ?? {}) as { operationName?: string }
      log(event, { traceId, queueDepth, method: request.method, operationName, duration, statusCode, ...more })
    }
    try {
      // Only what the vendor needs: no header of the caller, and never the internal token.
      const headers = {
        'content-type': 'application/json',
        'x-trace-id': traceId,
        ...(authorization && { authorization }),
      }
      const answer = await egress.fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(request.body) })
      const body = await answer.text()
      written('ingestion_proxy_request', answer.status)
      response
        .status(answer.status)
        .type(answer.headers.get('content-type') ?? 'application/json')
        .send(body)
    } catch (error) {
      const { status, code, retryAfterMs } = problemOf(error)
      // The queries of dashboards tell lines apart by the words in them, so the code of a refusal is not one of them.
      if (status === 429) written('ingestion_proxy_rate_limited', status)
      else written('ingestion_proxy_failed', status, { code })
      if (retryAfterMs !== undefined) response.set('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))))
      response.status(status).json({ error: { code, message: (error as Error).message } })
    }
  })
  app.use(answerErrors)
  return app
}

function problemOf(error: unknown): { status: number; code: string; retryAfterMs?: number } {
  if (error instanceof RefusedError) {
    const retryAfterMs = error.retryAfterMs ?? 1000
    const isOver = error.reason === 'queue-full' || error.reason === 'wait-too-long'
    return isOver
      ? { status: 429, code: 'TOO_MANY_REQUESTS', retryAfterMs }
      : { status: 503, code: 'UNAVAILABLE', retryAfterMs }
  }
  if (error instanceof UpstreamError && error.reason === 'timeout') return { status: 504, code: 'UPSTREAM_TIMEOUT' }
  return { status: 502, code: 'UPSTREAM_UNREACHABLE' }
}

function requireToken(tokens: readonly string[]) {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  const known = tokens.map(hash)
  return (request: Request, response: Response, next: () => void): void => {
    const given = hash(request.get('x-internal-token') ?? '')
    if (known.some((each) => timingSafeEqual(each, given))) next()
    else response.status(401).json({ error: { code: 'UNAUTHORIZED', message: 'x-internal-token is missing or wrong' } })
  }
}
