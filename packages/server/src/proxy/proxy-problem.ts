import type { ServerResponse } from 'node:http'
import { RefusedError, UpstreamError } from 'sluice/egress'

/** An answer of the proxy itself. */
export interface ProxyProblem {
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly reason: string
  /** Seconds. */
  readonly retryAfter?: number
}

type OwnProblem = 'malformed' | 'unknown' | 'method' | 'token' | 'loop' | 'coding' | 'tooLarge' | 'tooSlow' | 'ending'

/** What the proxy refuses before it requests a grant. */
export const problems: Readonly<Record<OwnProblem, ProxyProblem>> = {
  malformed: { status: 400, title: 'Bad request', detail: 'The request target is malformed.', reason: 'malformed' },
  unknown: {
    status: 404,
    title: 'Not found',
    detail: 'The first path segment names no upstream.',
    reason: 'unknown-upstream',
  },
  method: { status: 405, title: 'Method not allowed', detail: 'The method cannot be proxied.', reason: 'method' },
  token: { status: 401, title: 'Unauthorized', detail: 'x-internal-token is missing or wrong.', reason: 'token' },
  loop: { status: 508, title: 'Loop detected', detail: 'The request came through this proxy before.', reason: 'loop' },
  coding: {
    status: 501,
    title: 'Not implemented',
    detail: 'Of transfer codings, only chunked can be proxied.',
    reason: 'transfer-coding',
  },
  tooLarge: {
    status: 413,
    title: 'Content too large',
    detail: 'The body is larger than the proxy allows.',
    reason: 'too-large',
  },
  tooSlow: {
    status: 408,
    title: 'Request timeout',
    detail: 'The body of the request did not come.',
    reason: 'slow-body',
  },
  ending: {
    status: 503,
    title: 'Shutting down',
    detail: 'The proxy is ending; ask another replica.',
    reason: 'closed',
    retryAfter: 1,
  },
}

/** The answer to a failed call; undefined when the caller has disconnected. */
export function problemFor(error: unknown): ProxyProblem | undefined {
  if (error instanceof RefusedError) {
    const seconds = error.retryAfterMs === undefined ? 1 : Math.max(1, Math.ceil(error.retryAfterMs / 1000))
    const isOver = error.reason === 'queue-full' || error.reason === 'wait-too-long'
    return {
      status: isOver ? 429 : 503,
      title: isOver ? 'Too many requests' : 'Service unavailable',
      detail: error.message,
      reason: error.reason,
      retryAfter: seconds,
    }
  }
  if (error instanceof UpstreamError) {
    if (error.reason === 'aborted') return undefined
    const isSlow = error.reason === 'timeout'
    return {
      status: isSlow ? 504 : 502,
      title: isSlow ? 'Gateway timeout' : 'Bad gateway',
      // The cause may contain internal addresses; callers need only the kind.
      detail: isSlow ? 'The upstream did not answer in time.' : 'The upstream could not be reached.',
      reason: error.reason,
    }
  }
  return { status: 500, title: 'Internal error', detail: 'The proxy has a fault.', reason: 'fault' }
}

const endsConnection: ReadonlySet<ProxyProblem> = new Set([problems.tooLarge, problems.tooSlow, problems.ending])

/** Answers with a problem. If the rest of the request is not needed, the connection is closed after it. */
export function answerProblem(response: ServerResponse, about: ProxyProblem, requestId: string): void {
  const { retryAfter, ...problem } = about
  const body = JSON.stringify({ type: 'about:blank', ...problem })
  response.writeHead(problem.status, {
    'x-request-id': requestId,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    ...(endsConnection.has(about) ? { connection: 'close' } : {}),
  })
  response.end(body)
}
