import type { Dispatcher } from 'undici'
import { parseDuration } from '../../core/duration.ts'
import { toError } from '../../core/to-error.ts'
import type { Units } from '../booking/messages.ts'
import type { CallOptions } from '../egress.ts'
import { RefusedError, UpstreamError } from '../egress-error.ts'
import type { OutgoingRequest } from '../options.ts'
import type { BookingObserver } from '../places/booker.ts'
import type { Grant } from '../places/grant.ts'
import { type AttemptOutcome, nextAttemptMs } from '../retry/may-retry.ts'
import { estimateTokens } from '../usage/estimate.ts'
import { type UsageReader, usageReader } from '../usage/usage-reader.ts'
import type { VendorSignal } from '../vendor/vendor-signal.ts'
import { Attempt, type AttemptObserver, LateGrant } from './attempt.ts'
import { type CallContext, nameOf } from './call-context.ts'
import { headerFields } from './header-fields.ts'
import { hookAnswer } from './hooks.ts'
import { isInMemory, outgoingRequest, withoutHeadersTimeout } from './outgoing-request.ts'
import { PeekedResponse } from './peeked-response.ts'
import { reportedUnits } from './reported-units.ts'
import { type ResponseHandler, toResponseHandler } from './response-handler.ts'
import { mayBeRepeated, needsBody, pauseUpstream, ResponseHead, signalOf } from './response-head.ts'

/** One dispatch as its caller sees it: booked, sent, and sent again where that is allowed. */
export class Call implements AttemptObserver, BookingObserver {
  readonly #context: CallContext
  readonly #request: Dispatcher.DispatchOptions
  readonly #handler: ResponseHandler
  readonly #arrivedMs: number
  #outgoing: OutgoingRequest | undefined
  readonly #tenant: string
  readonly #scope: string
  #attempt: Attempt | undefined
  #expected: CallOptions['cost']
  #attempts = 0
  #waitMs = 0
  #giveUp: (() => void) | undefined
  #peeked: PeekedResponse | undefined
  #reader: UsageReader | undefined
  #response: ResponseHead | undefined
  #pass: number | undefined
  /** The response is passed on as it arrives. */
  #isPassing = false
  /** What to do about the current attempt is decided, once: two decisions on one refusal would send two retries. */
  #isDecided = false
  /** How the attempt failed after it was decided, while its response was still held back. */
  #lateFailure: UpstreamError | undefined
  #isOver = false

  constructor(context: CallContext, request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    const { hooks, clock } = context.runtime
    this.#context = context
    this.#request = request
    this.#handler = toResponseHandler(handler, context.undici)
    this.#arrivedMs = clock.monotonic()
    const fair = hooks.fairBy ? hookAnswer('fairBy', hooks.fairBy(this.#about)) : undefined
    this.#tenant = fair ?? context.options.tenant ?? ''
    this.#scope = hooks.scope ? nameOf(hookAnswer('scope', hooks.scope(this.#about))) : ''
  }

  /** What is passed to hooks of the request; most calls need none of it. */
  get #about(): OutgoingRequest {
    this.#outgoing ??= outgoingRequest(this.#request)
    return this.#outgoing
  }

  start(): void {
    // The caller can abort from now on, not only once its request is written.
    this.#handler.onConnect((reason) => this.#abort(reason ?? new Error('aborted')))
    if (!this.#isOver) this.#book(this.#arrivedMs)
  }

  #abort(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.runtime.leaveBreaker(this.#pass, 'cancelled')
    this.#giveUp?.()
    this.#attempt?.giveUp(reason)
    this.#handler.onError(reason)
  }

  #book(nowMs: number): void {
    const { runtime, options } = this.#context
    const { upstream } = runtime
    this.#pass = runtime.enterBreaker()
    if (this.#pass === undefined) {
      const retryAfterMs = runtime.breakerOpenMs
      this.refused(new RefusedError('breaker-open', runtime.name, { retryAfterMs, tenant: this.#tenant }))
      return
    }
    const booking = {
      tenant: nameOf(this.#tenant),
      weight: upstream.weights[this.#tenant] ?? 1,
      priorityMs: Math.round(options.priority ?? 0),
      arrivedMs: this.#arrivedMs,
      maxWaitMs: this.#maxWaitMs,
      scope: this.#scope,
      units: runtime.unitsOf(runtime.countsUnits ? this.#cost() : undefined),
      first: this.#attempts === 0,
    }
    this.#attempt = undefined
    const giveUp = runtime.booking.book(booking, this, nowMs)
    // The grant may have come synchronously, before this line.
    if (this.#attempt === undefined) this.#giveUp = giveUp
  }

  get #maxWaitMs(): number {
    const { runtime, options } = this.#context
    const { maxWait = runtime.upstream.maxWaitMs } = options
    return Math.min(parseDuration(maxWait, 'egress call.maxWait'), runtime.upstream.maxWaitMs)
  }

  #cost(): CallOptions['cost'] {
    const { runtime, options } = this.#context
    if (options.cost !== undefined) return options.cost
    // Once for all attempts: what it throws refuses the call, but a later attempt has nobody to throw to.
    if (runtime.hooks.cost) {
      this.#expected ??= hookAnswer('cost', runtime.hooks.cost(this.#about))
      return this.#expected
    }
    return runtime.countsUnits ? estimateTokens(this.#about) : undefined
  }

  refused(error: Error): void {
    const { runtime } = this.#context
    if (error instanceof RefusedError) runtime.reports.refused(this.#tenant, this.#arrivedMs, error)
    runtime.leaveBreaker(this.#pass, 'cancelled')
    this.#end(error)
  }

  granted(grant: Grant): void {
    this.#giveUp = undefined
    if (this.#isOver) {
      grant.cancel()
      return
    }
    const { runtime, transport, timeoutMs } = this.#context
    this.#attempts += 1
    this.#isDecided = false
    this.#waitMs = grant.waitedMs
    runtime.reports.granted(this.#tenant, this.#arrivedMs, this.#waitMs, this.#attempts)
    const allowedMs = Math.min(timeoutMs ?? Infinity, runtime.upstream.timeoutMs)
    this.#attempt = new Attempt(runtime, grant, this, allowedMs, isInMemory(this.#request.body))
    try {
      // The time to the first byte is measured by the attempt, which also knows when to return the place.
      transport(withoutHeadersTimeout(this.#request), this.#attempt as unknown as Dispatcher.DispatchHandler)
    } catch (error) {
      this.#attempt.onError(toError(error))
    }
  }

  // What the attempt reports.

  responded(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean {
    const { runtime } = this.#context
    const head = new ResponseHead(status, headerFields(rawHeaders))
    const writtenMs = this.#attempt?.writtenMs ?? 0
    this.#response = head
    runtime.leaveBreaker(this.#pass, status >= 500 && status !== 503 ? 'failed' : 'succeeded')
    runtime.reports.responded(this.#tenant, writtenMs, status, this.#waitMs, this.#attempts)
    if (runtime.countsUnits) this.#reader = usageReader(head.headers['content-type'], head.headers['content-encoding'])
    // The response is held back only where its body decides, or where the call may be made again.
    const signal = needsBody(runtime, head) ? undefined : signalOf(runtime, head, undefined)
    if (signal && !signal.limited && !mayBeRepeated(status)) {
      if (signal.pauses) pauseUpstream(runtime, this.#scope, signal, status, writtenMs)
      this.#isPassing = true
      this.#emitResponse()
      return this.#handler.onHeaders(status, rawHeaders, resume, statusText) !== false
    }
    this.#peeked = new PeekedResponse(status, rawHeaders, resume, statusText)
    if (signal) this.#decide(signal)
    return true
  }

  data(chunk: Buffer): boolean {
    this.#reader?.read(chunk)
    // Only `false` means that the receiver is not ready for more; some handlers return nothing.
    if (this.#isPassing) return this.#handler.onData(chunk) !== false
    const isWanted = this.#peeked!.add(chunk)
    if (this.#isDecided || !this.#peeked!.isFull) return isWanted
    this.#decide(signalOf(this.#context.runtime, this.#response!, undefined))
    return true
  }

  ended(trailers: Buffer[] | null): void {
    if (this.#isPassing) {
      this.#isOver = true
      this.#handler.onComplete(trailers)
      return
    }
    const peeked = this.#peeked!
    peeked.end(trailers)
    if (peeked.isPassing) this.#isOver = true
    else if (!this.#isDecided) {
      const body = peeked.text(this.#response!.headers['content-encoding'])
      this.#decide(signalOf(this.#context.runtime, this.#response!, body))
    }
  }

  failed(error: Error, written: boolean): void {
    if (error instanceof LateGrant) {
      // Nothing was written. It books again and keeps its position in the queue.
      this.#attempts -= 1
      this.#book(this.#context.runtime.clock.monotonic())
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
    if (this.#isPassing || this.#peeked?.isPassing) this.#end(failure)
    else if (this.#isDecided) this.#lateFailure = failure
    else this.#retryOr({ kind: 'failure', written }, 0, failure.reason, () => this.#end(failure))
  }

  actualUnits(reserved: Units, isCut: boolean): Units | undefined {
    const { runtime } = this.#context
    if (this.#response === undefined || !runtime.countsUnits) return undefined
    return reportedUnits(runtime, this.#response, this.#reader, isCut ? reserved : undefined)
  }

  // What a response means.

  #decide(signal: VendorSignal): void {
    const { runtime } = this.#context
    const { status } = this.#response!
    if (signal.pauses) pauseUpstream(runtime, this.#scope, signal, status, this.#attempt?.writtenMs ?? 0)
    if (signal.limited || status === 503) runtime.refused('limited')
    const { limited, mayRetry: vendorAllows } = signal
    const isRefusal = limited || mayBeRepeated(status)
    if (!isRefusal) this.#passOn()
    else {
      const outcome: AttemptOutcome = { kind: 'status', status, limited, vendorAllows }
      this.#retryOr(outcome, signal.waitMs ?? 0, `status ${status}`, () => this.#passOn())
    }
  }

  /** Makes the call again if that is safe, in time and within the fleet's retry budget; otherwise calls `otherwise`. */
  #retryOr(outcome: AttemptOutcome, waitMs: number, reason: string, otherwise: () => void): void {
    this.#isDecided = true
    const { runtime } = this.#context
    const request = {
      method: this.#about.method,
      hasIdempotencyKey: this.#about.headers['idempotency-key'] !== undefined,
      canRepeat: isInMemory(this.#request.body) || (outcome.kind === 'failure' && !outcome.written),
    }
    const { retry } = runtime.upstream
    const delayMs = nextAttemptMs(retry, request, outcome, this.#attempts, waitMs, runtime.random)
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
      runtime.reports.retried(this.#attempts + 1, delayMs, reason)
      this.#attempt?.discard()
      this.#peeked = undefined
      this.#reader = undefined
      this.#response = undefined
      this.#lateFailure = undefined
      const timer = runtime.clock.setTimeout(() => {
        if (!this.#isOver) this.#book(runtime.clock.monotonic())
      }, delayMs)
      this.#giveUp = () => runtime.clock.clearTimeout(timer)
    })
  }

  #passOn(): void {
    this.#isDecided = true
    if (this.#isOver) return
    if (this.#lateFailure) {
      this.#end(this.#lateFailure)
      return
    }
    const peeked = this.#peeked!
    this.#emitResponse()
    this.#isOver = peeked.hasEnded
    peeked.passTo(this.#handler)
  }

  #emitResponse(): void {
    const { onResponse } = this.#context
    onResponse?.({ waitMs: this.#waitMs, attempts: this.#attempts, fields: this.#response!.fields })
  }

  #end(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    if (error instanceof UpstreamError) this.#context.runtime.reports.failed(this.#tenant, error)
    this.#handler.onError(error)
  }
}
