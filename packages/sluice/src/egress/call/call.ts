import type { Dispatcher } from 'undici'
import { toError } from '../../core/to-error.ts'
import type { Units } from '../booking/messages.ts'
import type { CallOptions } from '../egress.ts'
import { RefusedError, UpstreamError } from '../egress-error.ts'
import type { Classification, OutgoingRequest } from '../options.ts'
import type { Grant } from '../places/grant.ts'
import type { AttemptOutcome } from '../retry/may-retry.ts'
import { isSafeToRetry, retryDelayMs } from '../retry/may-retry.ts'
import { estimateTokens } from '../usage/estimate.ts'
import { type UsageReader, usageReader } from '../usage/usage-reader.ts'
import { presetOf } from '../vendor/presets.ts'
import { type VendorSignal, vendorSignal } from '../vendor/vendor-signal.ts'
import type { Headers } from '../vendor/wait-forms.ts'
import { Attempt, type AttemptObserver, LateGrant } from './attempt.ts'
import { type CallContext, nameOf } from './call-context.ts'
import { isInMemory, outgoingRequest, parseRawHeaders } from './outgoing-request.ts'
import { PeekedResponse } from './peeked-response.ts'
import { type ResponseHandler, toResponseHandler } from './response-handler.ts'
import { actualUnitsOf, raiseUnits, unitsOf } from './units.ts'

/** One dispatch as its caller sees it: booked, sent, and sent again where that is allowed. */
export class Call implements AttemptObserver {
  readonly #context: CallContext
  readonly #request: Dispatcher.DispatchOptions
  readonly #handler: ResponseHandler
  readonly #arrivedMs: number
  readonly #about: OutgoingRequest
  readonly #tenant: string
  readonly #scope: string
  #attempt: Attempt | undefined
  #attempts = 0
  #waitMs = 0
  #giveUp: ((error: Error) => void) | undefined
  #peeked: PeekedResponse | undefined
  #reader: UsageReader | undefined
  #response: { readonly status: number; readonly headers: Headers } | undefined
  #pass: number | undefined
  #isOver = false

  constructor(context: CallContext, request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    const { hooks, clock } = context.runtime
    this.#context = context
    this.#request = request
    this.#handler = toResponseHandler(handler, context.undici)
    this.#arrivedMs = clock.monotonic()
    this.#about = outgoingRequest(request)
    this.#tenant = hooks.fairBy?.(this.#about) ?? context.options.tenant ?? ''
    this.#scope = nameOf(hooks.scope?.(this.#about))
  }

  start(): void {
    // The caller can give up from now on, not only once its request is written.
    this.#handler.onConnect((reason) => this.#abort(reason ?? new Error('aborted')))
    if (!this.#isOver) this.#book()
  }

  #abort(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.runtime.leaveBreaker(this.#pass, 'cancelled')
    this.#giveUp?.(reason)
    this.#attempt?.giveUp(reason)
    this.#handler.onError(reason)
  }

  #book(): void {
    const { runtime, options } = this.#context
    const { upstream } = runtime
    this.#pass = runtime.enterBreaker()
    if (this.#pass === undefined) {
      const retryAfterMs = runtime.breakerOpenMs
      this.#refused(new RefusedError('breaker-open', runtime.name, { retryAfterMs, tenant: this.#tenant }))
      return
    }
    const { grant, giveUp } = runtime.booking.book({
      tenant: nameOf(this.#tenant),
      weight: upstream.weights[this.#tenant] ?? 1,
      priorityMs: Math.round(options.priority ?? 0),
      arrivedMs: this.#arrivedMs,
      maxWaitMs: this.#maxWaitMs,
      scope: this.#scope,
      units: unitsOf(upstream.limits, this.#cost()),
      first: this.#attempts === 0,
    })
    this.#giveUp = giveUp
    grant.then(
      (given) => this.#send(given),
      (error) => this.#refused(toError(error)),
    )
  }

  get #maxWaitMs(): number {
    const { runtime, options } = this.#context
    return Math.min(options.maxWaitMs ?? Infinity, runtime.upstream.maxWaitMs)
  }

  #cost(): CallOptions['cost'] {
    const { runtime, options } = this.#context
    if (options.cost !== undefined) return options.cost
    if (runtime.hooks.cost) return runtime.hooks.cost(this.#about)
    return runtime.countsUnits ? estimateTokens(this.#about) : undefined
  }

  #refused(error: Error): void {
    if (error instanceof RefusedError) {
      const { runtime } = this.#context
      const waitMs = runtime.clock.monotonic() - this.#arrivedMs
      runtime.events.emit('refused', { upstream: runtime.name, tenant: this.#tenant, reason: error.reason, waitMs })
    }
    this.#context.runtime.leaveBreaker(this.#pass, 'cancelled')
    this.#end(error)
  }

  #send(grant: Grant): void {
    this.#giveUp = undefined
    if (this.#isOver) {
      grant.cancel()
      return
    }
    const { runtime, transport, timeoutMs } = this.#context
    this.#attempts += 1
    this.#waitMs = grant.waitedMs
    const about = { upstream: runtime.name, tenant: this.#tenant, waitMs: grant.waitedMs, attempt: this.#attempts }
    runtime.events.emit('granted', about)
    this.#attempt = new Attempt({
      grant,
      clock: runtime.clock,
      upstream: runtime.name,
      timeoutMs: Math.min(timeoutMs ?? Infinity, runtime.upstream.timeoutMs),
      isBodyInMemory: isInMemory(this.#request.body),
      observer: this,
    })
    try {
      // The time to the first byte is measured by the attempt, which also knows when to return the place.
      transport({ ...this.#request, headersTimeout: 0 }, this.#attempt as unknown as Dispatcher.DispatchHandler)
    } catch (error) {
      this.#attempt.onError(toError(error))
    }
  }

  // What the attempt reports.

  written(): void {}

  responded(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean {
    const { runtime } = this.#context
    const headers = parseRawHeaders(rawHeaders)
    const firstByteMs = runtime.clock.monotonic() - (this.#attempt?.writtenMs ?? 0)
    this.#response = { status, headers }
    runtime.leaveBreaker(this.#pass, status >= 500 && status !== 503 ? 'failed' : 'succeeded')
    const about = { upstream: runtime.name, tenant: this.#tenant, status, waitMs: this.#waitMs, firstByteMs }
    runtime.events.emit('responded', { ...about, attempt: this.#attempts })
    if (runtime.countsUnits) this.#reader = usageReader(headers['content-type'], headers['content-encoding'])
    this.#peeked = new PeekedResponse(status, rawHeaders, resume, statusText)
    // Only where the body decides is anything held back.
    if (!this.#needsBody(status, headers)) this.#decide(undefined)
    return true
  }

  data(chunk: Buffer): boolean {
    this.#reader?.read(chunk)
    const isWanted = this.#peeked!.add(chunk)
    if (this.#peeked!.isPassing || !this.#peeked!.isFull) return isWanted
    this.#decide(undefined)
    return true
  }

  ended(trailers: Buffer[] | null): void {
    const peeked = this.#peeked!
    const isDecided = peeked.isPassing
    peeked.end(trailers)
    if (!isDecided) this.#decide(peeked.text(this.#response?.headers['content-encoding']))
    else this.#isOver = true
  }

  failed(error: Error, written: boolean): void {
    if (error instanceof LateGrant) {
      // Nothing was written. It books again and keeps its place in the order.
      this.#attempts -= 1
      this.#book()
      return
    }
    const { runtime } = this.#context
    if (!(error instanceof UpstreamError && error.reason === 'aborted')) runtime.leaveBreaker(this.#pass, 'failed')
    const failure =
      error instanceof UpstreamError
        ? error
        : new UpstreamError(written ? 'reset' : 'unreachable', runtime.name, written, error)
    if (failure.reason === 'timeout') runtime.refused('timeout')
    // Once the response has been passed on, it cannot be taken back.
    if (this.#peeked?.isPassing) this.#end(failure)
    else this.#retryOr({ kind: 'failure', written }, 0, failure.reason, () => this.#end(failure))
  }

  actualUnits(reserved: Units, isCut: boolean): Units | undefined {
    const { runtime } = this.#context
    if (this.#response === undefined || !runtime.countsUnits) return undefined
    const { status, headers } = this.#response
    const { settle } = runtime.hooks
    const usage = settle ? settle({ status, headers, body: this.#reader?.text() }) : this.#reader?.usage()
    const units = actualUnitsOf(runtime.upstream.limits, usage)
    // A stream that was cut has told of a part only: what was reserved stays, unless it cost more already.
    return isCut && units ? raiseUnits(units, reserved) : units
  }

  // What a response means.

  #needsBody(status: number, headers: Headers): boolean {
    const { hooks, upstream } = this.#context.runtime
    const isText = /json|text\/(?!event-stream)|xml/.test(headers['content-type'] ?? '')
    if (hooks.classify) return isText
    return status === 429 && presetOf(upstream.vendor).readsBody === true
  }

  #decide(body: string | undefined): void {
    const { runtime } = this.#context
    const { status, headers } = this.#response!
    const told: Classification | undefined = runtime.hooks.classify?.({ status, headers, body })
    const nowMs = Math.floor(runtime.clock.now() / 1000)
    const signal = vendorSignal(presetOf(runtime.upstream.vendor), status, headers, nowMs, told, body)
    if (signal.pauses) this.#pause(signal, status)
    if (signal.limited || status === 503) runtime.refused('limited')
    const { limited, mayRetry: vendorSays } = signal
    const isRefusal = limited || status >= 500 || status === 408
    if (!isRefusal) this.#passOn()
    else {
      const outcome: AttemptOutcome = { kind: 'status', status, limited, vendorSays }
      this.#retryOr(outcome, signal.waitMs ?? 0, `status ${status}`, () => this.#passOn())
    }
  }

  #pause({ waitMs }: VendorSignal, status: number): void {
    const { runtime } = this.#context
    const sentAgoMs = Math.ceil(runtime.clock.monotonic() - (this.#attempt?.writtenMs ?? 0))
    const scope = this.#scope
    const [ms, maxMs] = [waitMs === undefined ? -1 : Math.ceil(waitMs), runtime.upstream.maxPauseMs]
    const asked = runtime.booking.ask({ op: 'pause', scope, ms, sentAgoMs, chance: runtime.random(), maxMs })
    void asked.then((result) => {
      if (result?.is === 'paused')
        runtime.events.emit('paused', { upstream: runtime.name, scope, ms: result.ms, status })
    })
  }

  /** Makes the call again if that is safe, in time and within the budget of the fleet; else does the other thing. */
  #retryOr(outcome: AttemptOutcome, waitMs: number, reason: string, otherwise: () => void): void {
    const { runtime } = this.#context
    const { retry } = runtime.upstream
    const request = {
      method: this.#about.method,
      hasIdempotencyKey: this.#about.headers['idempotency-key'] !== undefined,
      canRepeat: isInMemory(this.#request.body) || (outcome.kind === 'failure' && !outcome.written),
    }
    const isAllowed = retry !== undefined && this.#attempts < retry.attempts && isSafeToRetry(request, outcome)
    const delayMs = retry && isAllowed ? retryDelayMs(retry, this.#attempts, waitMs, runtime.random) : Infinity
    const leftMs = this.#maxWaitMs - (runtime.clock.monotonic() - this.#arrivedMs)
    if (delayMs > leftMs) {
      otherwise()
      return
    }
    void runtime.booking.ask({ op: 'retry' }).then((result) => {
      if (this.#isOver) return
      if (result?.is !== 'ok') {
        otherwise()
        return
      }
      runtime.events.emit('retried', { upstream: runtime.name, attempt: this.#attempts + 1, delayMs, reason })
      this.#attempt?.discard()
      this.#peeked = undefined
      this.#reader = undefined
      this.#response = undefined
      const timer = runtime.clock.setTimeout(() => {
        if (!this.#isOver) this.#book()
      }, delayMs)
      this.#giveUp = () => runtime.clock.clearTimeout(timer)
    })
  }

  #passOn(): void {
    if (this.#isOver) return
    this.#context.onResponse?.({ waitMs: this.#waitMs, attempts: this.#attempts })
    this.#peeked?.passTo(this.#handler)
  }

  #end(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    const { runtime } = this.#context
    if (error instanceof UpstreamError)
      runtime.events.emit('failed', { upstream: runtime.name, tenant: this.#tenant, reason: error.reason, error })
    this.#handler.onError(error)
  }
}
