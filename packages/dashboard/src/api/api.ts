import { session } from './session.ts'

/** An answer that is an error, by RFC 9457, or a daemon that did not answer (status 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The `SLUICE_*` code, if the answer has one. */
  readonly code: string | undefined
  /** Everything else of the problem document: `issues`, `inForce`, ... */
  readonly extra: Readonly<Record<string, unknown>>

  constructor(status: number, detail: string, problem: Readonly<Record<string, unknown>> = {}) {
    super(detail)
    this.status = status
    this.code = typeof problem.code === 'string' ? problem.code : undefined
    this.extra = problem
  }
}

export interface ApiOptions {
  /** Sent as JSON; a string is sent unchanged, as YAML. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** A 401 then means a wrong secret, not a session that has ended. */
  readonly isSignIn?: boolean
  /** It changes nothing, so that its answer has a time limit, as that of a GET. */
  readonly isRead?: boolean
}

/** An answer with its headers, where they are needed (`etag`). */
export interface ApiAnswer<T> {
  readonly body: T
  readonly headers: Headers
}

/**
 * Sends a request to the daemon. Errors are ApiError; a 401 shows the sign-in.
 *
 * @example const stats = await api<Stats>('GET', '/v1/stats?top=5')
 */
export async function api<T>(method: string, path: string, options: ApiOptions = {}): Promise<T> {
  return (await apiAnswer<T>(method, path, options)).body
}

/** How long an answer may take. What changes something, or tries a policy, may take as long as it needs. */
const readMs = 15_000

export async function apiAnswer<T>(method: string, path: string, options: ApiOptions = {}): Promise<ApiAnswer<T>> {
  const { signal, isRead = method === 'GET' } = options
  const end = new AbortController()
  const abort = (): void => end.abort()
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  const timer = isRead ? setTimeout(abort, readMs) : undefined
  try {
    return await send<T>(method, path, { ...options, signal: end.signal })
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error
    throw new ApiError(0, end.signal.aborted ? 'The daemon does not answer.' : 'The daemon cannot be reached.')
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

async function send<T>(method: string, path: string, options: ApiOptions): Promise<ApiAnswer<T>> {
  const { body, headers, signal } = options
  const isText = typeof body === 'string'
  const response = await fetch(`.${path}`, {
    method,
    headers: {
      // A form of another site cannot send this header.
      'x-sluice-page': '1',
      ...(body === undefined ? {} : { 'content-type': isText ? 'application/yaml' : 'application/json' }),
      ...headers,
    },
    credentials: 'same-origin',
    redirect: 'error',
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (!response.ok) throw await failure(response, options.isSignIn ?? false)
  return { body: (await response.json()) as T, headers: response.headers }
}

async function failure(response: Response, isSignIn: boolean): Promise<ApiError> {
  if (response.status === 401 && !isSignIn) session.set('expired')
  const problem = (await response.json().catch(() => ({}))) as Record<string, unknown>
  const detail = typeof problem.detail === 'string' ? problem.detail : `The daemon answered ${response.status}.`
  return new ApiError(response.status, detail, problem)
}
