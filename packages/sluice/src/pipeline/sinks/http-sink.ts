import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import type { PipelineRecord, PipelineSink, Rejection } from '../pipeline.ts'
import { pipelineFailed } from '../pipeline-error.ts'

export interface HttpSinkRequest {
  method: string
  headers: Record<string, string>
  body: string
  signal: AbortSignal
}

/** As much of a `Response` as the sink reads. */
export interface HttpSinkResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: Iterable<[string, string]>
  text(): Promise<string>
}

export interface HttpSinkOptions<T> {
  readonly url: string | URL
  /** Makes the calls, such as `egress.fetch`, which keeps to the limits of the vendor. */
  readonly fetch: (url: string, init: HttpSinkRequest) => Promise<HttpSinkResponse>
  /** POST by default. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body of a batch; by default a list of its records as JSON. */
  readonly body?: (values: readonly T[]) => string
}

const known = ['url', 'fetch', 'method', 'headers', 'body']
/** The server does not take these records: with fewer of them it may. */
const refused = new Set([400, 409, 413, 422])
/** No trying again helps against these. */
const final = new Set([401, 403, 404, 405, 406, 410, 411, 414, 415, 431, 451, 501])

/**
 * Sends each batch as one request. A server that answers 429, or 503 with a full buffer, slows the pipeline down: the
 * batch is sent again after `Retry-After`. Records that are refused (400, 409, 413, 422) are found by halves and go to
 * the dead letters.
 *
 * @example httpSink({ url: 'https://vendor.example/rows', fetch: (url, init) => egress.fetch(url, init) })
 */
export function httpSink<T>(options: HttpSinkOptions<T>): PipelineSink<T> {
  checkOptionNames('httpSink', options, known)
  const { method = 'POST', headers, body = (values: readonly T[]) => JSON.stringify(values) } = options
  const url = String(options.url)
  if (!URL.canParse(url)) throw invalidOption('httpSink.url', options.url, 'give the whole address')
  if (typeof options.fetch !== 'function')
    throw invalidOption('httpSink.fetch', options.fetch, 'pass a function such as egress.fetch')

  async function send(
    records: readonly PipelineRecord<T>[],
    offset: number,
    signal: AbortSignal,
    rejections: Rejection[],
  ): Promise<void> {
    if (records.length === 0) return
    const response = await options.fetch(url, {
      ...{ method, signal, body: body(records.map(({ value }) => value)) },
      headers: { 'content-type': 'application/json', ...headers },
    })
    const text = await response.text()
    if (response.ok) return
    const message = `${url} answers ${response.status}: ${text.slice(0, 200)}`
    if (final.has(response.status)) throw pipelineFailed(message)
    if (!refused.has(response.status)) throw new HttpFailure(message, response)
    if (records.length === 1) {
      rejections.push({ index: offset, reason: message })
      return
    }
    const half = records.length >> 1
    await send(records.slice(0, half), offset, signal, rejections)
    await send(records.slice(half), offset + half, signal, rejections)
  }

  return {
    async write({ records }, { signal, reject }) {
      const rejections: Rejection[] = []
      await send(records, 0, signal, rejections)
      if (rejections.length > 0) await reject(rejections)
    },
  }
}

/** A response after which the batch is sent again, not before `retryAfterMs`. */
class HttpFailure extends Error {
  override readonly name = 'HttpFailure'
  readonly retryAfterMs: number | undefined

  constructor(message: string, { headers }: HttpSinkResponse) {
    super(message)
    this.retryAfterMs = retryAfterMs(Object.fromEntries(headers), systemClock().now() / 1000)
  }
}
