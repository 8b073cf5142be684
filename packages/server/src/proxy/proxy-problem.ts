import type { ServerResponse } from 'node:http'
import { isSluiceError } from 'sluice'
import { RefusedError, UpstreamError } from 'sluice/egress'
import { type Problem, problemAnswer } from '../http/problem.ts'

/** An answer of the proxy itself; `reason` is also in the log. */
export interface ProxyProblem extends Problem {
  readonly extra: { readonly reason: string; readonly retryAfterMs?: number; readonly close?: true }
  /** Answered without a line in the log: there may be thousands, and one line says so. */
  readonly isQuiet?: true
}

type Own = 'malformed' | 'unknown' | 'method' | 'token' | 'loop' | 'coding' | 'tooLarge' | 'tooSlow' | 'ending'

const problem = (status: number, reason: string, message: string, more: object = {}): ProxyProblem => ({
  status,
  message,
  extra: { reason, ...more },
})
/** If the rest of the request is not needed, the connection is closed after the answer. */
const close = true

/** What the proxy refuses before it requests a grant. */
export const problems: Readonly<Record<Own, ProxyProblem>> = {
  malformed: problem(400, 'malformed', 'The request target is malformed.'),
  unknown: problem(404, 'unknown-upstream', 'The first path segment names no upstream.'),
  method: problem(405, 'method', 'The method cannot be proxied.'),
  token: problem(401, 'token', 'x-internal-token is missing or wrong.'),
  loop: problem(508, 'loop', 'The request came through this proxy before.'),
  coding: problem(501, 'transfer-coding', 'Of transfer codings, only chunked can be proxied.'),
  tooLarge: problem(413, 'too-large', 'The body is larger than the proxy allows.', { close }),
  tooSlow: problem(408, 'slow-body', 'The body of the request did not come.', { close }),
  ending: problem(503, 'closed', 'The proxy is ending; ask another replica.', { close, retryAfterMs: 1000 }),
}

/** The answer to a wrong token after too many of them. */
export function tooManyTokens(retryAfterMs: number): ProxyProblem {
  const message = 'Too many wrong tokens; wait a minute. The right one always works.'
  return { ...problem(429, 'token', message, { retryAfterMs, close }), isQuiet: true }
}

/** The answer to a failed call; undefined when the caller has disconnected. */
export function problemFor(error: unknown): ProxyProblem | undefined {
  if (error instanceof RefusedError) {
    const isOver = error.reason === 'queue-full' || error.reason === 'wait-too-long'
    const retryAfterMs = Math.max(1, Math.ceil(error.retryAfterMs ?? 1000))
    return problem(isOver ? 429 : 503, error.reason, error.message, { retryAfterMs })
  }
  if (error instanceof UpstreamError) {
    if (error.reason === 'aborted') return undefined
    // The cause may contain internal addresses; callers need only the kind.
    return error.reason === 'timeout'
      ? problem(504, error.reason, 'The upstream did not answer in time.')
      : problem(502, error.reason, 'The upstream could not be reached.')
  }
  if (isSluiceError(error) && error.code === 'SLUICE_WRONG_USE') return problem(400, 'malformed', error.message)
  return problem(500, 'fault', 'The proxy has a fault.')
}

/** Answers with a problem. */
export function answerProblem(response: ServerResponse, about: ProxyProblem, requestId: string): void {
  const { status, headers, body } = problemAnswer(about)
  response.writeHead(status, { 'x-request-id': requestId, ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
