import type { ServerResponse } from 'node:http'

/**
 * The last middleware of an Express app: says in one line of JSON what is wrong with a request, and nothing about what
 * is wrong with the service.
 */
export function answerErrors(
  error: Error & { readonly status?: number },
  _request: unknown,
  response: ServerResponse,
  _next: unknown,
): void {
  const status = error.status ?? 503
  const message = status < 500 ? error.message : 'try again later'
  if (response.headersSent) response.destroy()
  else
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { code: status < 500 ? 'BAD_REQUEST' : 'UNAVAILABLE', message } }))
}
