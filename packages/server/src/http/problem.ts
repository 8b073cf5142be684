import { isSluiceError, PolicyError } from 'sluice'
import { problemType } from 'sluice/http'
import { StoreError } from 'sluice/store'

/** An answer that is an error, by RFC 9457. */
export class HttpProblem extends Error {
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

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** The response for an error. Internal details are not in it; the log has them. */
export function problemResponse(error: unknown): Response {
  const { status, message, extra: all } = toProblem(error)
  const { allow, close, ...extra } = all
  const body = { type: 'about:blank', title: titles[status] ?? 'Error', status, detail: message, ...extra }
  const headers = new Headers({ 'content-type': problemType })
  if (Array.isArray(allow)) headers.set('allow', allow.join(', '))
  if (typeof extra.retryAfterMs === 'number') headers.set('retry-after', String(Math.ceil(extra.retryAfterMs / 1000)))
  if (close === true) headers.set('connection', 'close')
  if (status === 401) headers.set('www-authenticate', 'Bearer realm="sluice"')
  return new Response(JSON.stringify(body), { status, headers })
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
