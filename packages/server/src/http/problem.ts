import { STATUS_CODES } from 'node:http'
import { type Decision, isSluiceError, PolicyError } from 'sluice'
import { problemType } from 'sluice/http'
import { StoreError } from 'sluice/store'

/** An answer that is an error, by RFC 9457: every part of the server answers errors in this form. */
export interface Problem {
  readonly status: number
  /** The `detail` of the body. */
  readonly message: string
  /**
   * Further members of the body. Of these, `allow` and `close` become headers only, and `retryAfterMs` is a header,
   * too.
   */
  readonly extra: Readonly<Record<string, unknown>>
}

/** A problem that can be thrown. */
export class HttpProblem extends Error implements Problem {
  override readonly name = 'HttpProblem'
  readonly status: number
  readonly extra: Readonly<Record<string, unknown>>

  constructor(status: number, detail: string, extra: Readonly<Record<string, unknown>> = {}) {
    super(detail)
    this.status = status
    this.extra = extra
  }
}

/** For a client that went away before its answer. Nobody reads it; it is counted, and is no fault of the daemon. */
export function clientGone(): HttpProblem {
  return new HttpProblem(499, 'The client went away before it was answered.')
}

/** When to ask again: an overload by clients that wait for their answers is over soon. */
const overloadMs = 1000

/** The answer to a request that this daemon has no time for. */
export function overloaded(): HttpProblem {
  const detail = 'The daemon has more to decide than it can in time; ask again later, or for less at once.'
  return new HttpProblem(503, detail, { code: 'SLUICE_OVERLOADED', retryAfterMs: overloadMs })
}

/** The decision, unless the daemon was too busy to make one: that is no denial by a rule. */
export function madeInTime(decision: Decision): Decision {
  if (decision.failure === 'overload') throw overloaded()
  return decision
}

const titles: Readonly<Record<number, string>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  499: 'Client Closed Request',
}

/** A problem as it is sent. */
export interface ProblemAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function problemAnswer({ status, message, extra: all }: Problem): ProblemAnswer {
  const { allow, close, ...extra } = all
  const headers: Record<string, string> = { 'content-type': problemType }
  if (Array.isArray(allow)) headers.allow = allow.join(', ')
  if (typeof extra.retryAfterMs === 'number')
    headers['retry-after'] = String(Math.max(1, Math.ceil(extra.retryAfterMs / 1000)))
  if (close === true) headers.connection = 'close'
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="sluice"'
  const body = { type: 'about:blank', title: titles[status] ?? 'Error', status, detail: message, ...extra }
  return { status, headers, body: JSON.stringify(body) }
}

/** The response for an error. Internal details are not in it; the log has them. */
export function problemResponse(error: unknown): Response {
  const { status, headers, body } = problemAnswer(toProblem(error))
  return new Response(body, { status, headers })
}

/** What an error means to the client. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error
  if (error instanceof PolicyError) {
    const issues = error.issues.map(({ path, message }) => ({ path, message }))
    return new HttpProblem(422, error.message, { code: error.code, issues })
  }
  if (!isSluiceError(error)) return new HttpProblem(500, 'The daemon has a fault; its log tells more.')
  if (error.code === 'SLUICE_OVERLOADED') return overloaded()
  // The message of the driver has the address of the store, which not every client that may ask for decisions may see.
  const detail = error instanceof StoreError ? `The store could not be asked (${error.kind}).` : error.message
  return new HttpProblem(statusOf(error.code), detail, { code: error.code })
}

function statusOf(code: string): number {
  switch (code) {
    case 'SLUICE_UNKNOWN_RULE':
      return 404
    case 'SLUICE_POLICY_CHANGED':
      return 412
    case 'SLUICE_WRONG_USE':
      return 409
    case 'SLUICE_STORE_FAILED':
    case 'SLUICE_STORE_FULL':
    case 'SLUICE_SOURCE_FAILED':
    case 'SLUICE_CLOSED':
      return 503
    default:
      return 400
  }
}
