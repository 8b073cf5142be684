import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ResponseReceiver, UpstreamError, type UpstreamHead } from 'sluice/egress'
import { type CheckedRequest, checkRequest, one } from './check-request.ts'
import { proxiedLocation } from './location.ts'
import { requestHeaders, responseHeaders } from './proxy-headers.ts'
import type { ProxyParts } from './proxy-parts.ts'
import { answerProblem, type ProxyProblem, problemFor, problems } from './proxy-problem.ts'
import { comesWithHead, endBody, requestBody } from './request-body.ts'
import { type CallIds, callIds } from './trace-ids.ts'

/** One error for all: creating one for every aborted call costs more than the rest of the abort. */
const clientGone = new Error('the client is gone')

/**
 * One request that is forwarded after a grant, and whose response is passed back as it arrives.
 *
 *     start -> refused by the proxy                                answered with a problem
 *           -> send -> responded, data ..., ended                  passed on
 *                   -> failed                                      answered with a problem, or cut if it has begun
 *     the client disconnects at any time                           aborts the call
 *
 * Its line in the log is written when the response is closed, which always comes last.
 */
export class ProxiedCall implements ResponseReceiver {
  readonly #parts: ProxyParts
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #ids: CallIds
  readonly #begunMs = performance.now()
  #upstream = ''
  #waitMs = 0
  #reason: string | undefined
  #bodyProblem: ProxyProblem | undefined
  #body: ReturnType<typeof requestBody> = null
  #giveUp: ((reason: Error) => void) | undefined
  #head: UpstreamHead | undefined
  #readTimer: NodeJS.Timeout | undefined
  #isGone = false
  #isOver = false
  #isClosed = false
  #isQuiet = false

  constructor(parts: ProxyParts, request: IncomingMessage, response: ServerResponse) {
    this.#parts = parts
    this.#request = request
    this.#response = response
    this.#ids = callIds(one(request.headers['x-request-id']), one(request.headers.traceparent))
  }

  start(): void {
    const { calls } = this.#parts
    calls.add(this)
    this.#watchClose()
    const found = checkRequest(this.#parts, this.#request)
    if ('status' in found) this.#refuse(found)
    // Data that came together with the head is readable after this turn of the event loop, and need not be a stream.
    else if (comesWithHead(this.#request)) setImmediate(() => this.#send(found))
    else this.#send(found)
  }

  /** The proxy stops: a call without an answer gets one now. */
  end(): void {
    if (!this.#response.headersSent) this.#refuse(problems.ending)
  }

  responded(head: UpstreamHead): boolean {
    const { status, headers, waitMs } = head
    this.#head = head
    this.#waitMs = waitMs
    try {
      const locate = (location: string): string => this.#locate(location)
      const passed = responseHeaders(headers, this.#ids.requestId, locate)
      // The rest of the body is not read to its end, so the connection cannot be used again.
      if (!this.#request.complete) passed.push('connection', 'close')
      this.#response.writeHead(status, passed)
    } catch (error) {
      // The vendor sent what Node refuses to forward.
      this.#giveUp?.(error as Error)
      return true
    }
    // Data that follows at once is sent together with the head; after that, the head is sent alone.
    process.nextTick(flushHead, this.#response)
    return true
  }

  data(chunk: Buffer): boolean {
    if (this.#response.write(chunk)) return true
    this.#waitForReader()
    return false
  }

  ended(trailers: Readonly<Record<string, string>>): void {
    this.#isOver = true
    for (const _ in trailers) {
      addTrailers(this.#response, trailers)
      break
    }
    this.#response.end()
  }

  failed(error: Error): void {
    if (this.#isOver) return
    const problem = this.#isGone ? undefined : (this.#bodyProblem ?? problemFor(error))
    this.#isOver = true
    endBody(this.#body)
    this.#reason ??=
      problem?.extra.reason ?? (this.#parts.calls.isEnding ? problems.ending.extra.reason : 'client-gone')
    if (problem === undefined || this.#response.headersSent) this.#response.destroy()
    else {
      const close = this.#request.complete ? {} : ({ close: true } as const)
      answerProblem(this.#response, { ...problem, extra: { ...problem.extra, ...close } }, this.#ids.requestId)
    }
  }

  #send({ upstream, path, caller }: CheckedRequest): void {
    if (this.#isOver) return
    const { egress, credentials } = this.#parts
    this.#upstream = upstream
    const request = this.#request
    try {
      this.#body = requestBody(request, this.#response, this.#parts, (problem) => {
        this.#bodyProblem = problem
        this.#giveUp?.(clientGone)
      })
      const headers = requestHeaders(request.rawHeaders, credentials(upstream), this.#ids)
      const about = { upstream, path, method: request.method ?? 'GET', headers, body: this.#body }
      const tenant = one(request.headers['x-sluice-tenant'])
      const sluice = tenant ? { caller, tenant: tenant.slice(0, 200) } : { caller }
      this.#giveUp = egress.send({ ...about, sluice }, this)
    } catch (error) {
      this.failed(error as Error)
    }
  }

  /** A location within the upstream is rewritten to go through the proxy. */
  #locate(location: string): string {
    const upstream = this.#parts.egress.upstreams.find(({ name }) => name === this.#upstream)
    return upstream === undefined ? location : proxiedLocation(location, upstream)
  }

  #refuse(problem: ProxyProblem): void {
    this.#reason = problem.extra.reason
    this.#isQuiet = problem.isQuiet === true
    this.#isOver = true
    answerProblem(this.#response, problem, this.#ids.requestId)
  }

  /** A caller that does not read would hold a connection to the vendor, and a place in flight, without a time limit. */
  #waitForReader(): void {
    this.#readTimer = setTimeout(() => {
      this.#reason = 'slow-reader'
      this.#giveUp?.(new UpstreamError('aborted', this.#upstream, true, clientGone))
    }, this.#parts.readIdleMs)
    this.#response.once('drain', () => {
      clearTimeout(this.#readTimer)
      this.#head!.resume()
    })
  }

  #watchClose(): void {
    const { socket } = this.#request
    const closed = (): void => this.#closed()
    this.#response.once('close', closed)
    if (this.#response.socket !== null) return
    // A response that is queued behind an earlier one on the same connection gets no event when the connection closes.
    // A caller that pipelines can have many of these.
    socket.setMaxListeners(0)
    socket.once('close', closed)
    this.#response.once('close', () => socket.off('close', closed))
  }

  #closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#readTimer)
    this.#parts.calls.delete(this)
    if (!this.#isOver) {
      this.#isGone = this.#bodyProblem === undefined
      if (this.#giveUp === undefined) this.failed(clientGone)
      else this.#giveUp(clientGone)
    }
    this.#log()
  }

  #log(): void {
    if (this.#isQuiet) return
    const { log } = this.#parts
    const { requestId, traceId } = this.#ids
    const { method, url = '' } = this.#request
    // Never the query: it may contain API keys.
    const mark = url.indexOf('?')
    const path = url.slice(0, Math.min(mark < 0 ? 200 : mark, 200))
    const waitMs = Math.round(this.#waitMs)
    const durationMs = Math.round(performance.now() - this.#begunMs)
    const status = this.#response.statusCode
    const about = { requestId, traceId, upstream: this.#upstream, method, path, waitMs, durationMs, status }
    log.info(this.#reason === undefined ? about : { ...about, reason: this.#reason }, 'call')
  }
}

function flushHead(response: ServerResponse): void {
  if (!response.writableEnded) response.flushHeaders()
}

function addTrailers(response: ServerResponse, trailers: Readonly<Record<string, string>>): void {
  try {
    response.addTrailers(trailers)
  } catch {
    // A name or value that Node refuses to send is left out; the body is complete.
  }
}
