import type { Dispatcher } from 'undici'
import { toError } from '../../core/to-error.ts'
import type { Units } from '../booking/messages.ts'
import type { CallOptions } from '../egress.ts'
import { RefusedError, UpstreamError } from '../egress-error.ts'
import type { Grant } from '../places/grant.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { Attempt, type AttemptObserver, LateGrant } from './attempt.ts'
import type { Undici } from './load-undici.ts'
import { isInMemory, outgoingRequest } from './outgoing-request.ts'
import { type ResponseHandler, toResponseHandler } from './response-handler.ts'
import { unitsOf } from './units.ts'

export interface CallContext {
  readonly runtime: UpstreamRuntime
  readonly undici: Undici
  /** What the request is sent through once it has its grant. */
  readonly transport: Dispatcher['dispatch']
  readonly options: CallOptions
  readonly timeoutMs?: number | undefined
  /** What the caller learns beside the response itself. */
  readonly onResponse?: (about: { readonly waitMs: number; readonly attempts: number }) => void
}

/** One dispatch as its caller sees it: booked, sent, and sent again where that is allowed. */
export class Call implements AttemptObserver {
  readonly #context: CallContext
  readonly #request: Dispatcher.DispatchOptions
  readonly #handler: ResponseHandler
  readonly #arrivedMs: number
  readonly #tenant: string
  #attempt: Attempt | undefined
  #attempts = 0
  #waitMs = 0
  #giveUp: ((error: Error) => void) | undefined
  #isOver = false

  constructor(context: CallContext, request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    this.#context = context
    this.#request = request
    this.#handler = toResponseHandler(handler, context.undici)
    this.#arrivedMs = context.runtime.clock.monotonic()
    const { fairBy } = context.runtime.hooks
    this.#tenant = (fairBy ? fairBy(outgoingRequest(request)) : undefined) ?? context.options.tenant ?? ''
  }

  start(): void {
    // The caller can give up from now on, not only once its request is written.
    this.#handler.onConnect((reason) => this.#abort(reason ?? new Error('aborted')))
    if (!this.#isOver) this.#book()
  }

  #abort(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#giveUp?.(reason)
    this.#attempt?.giveUp(reason)
    this.#handler.onError(reason)
  }

  #book(): void {
    const { runtime, options } = this.#context
    const { upstream, hooks } = runtime
    const about = hooks.scope || hooks.cost ? outgoingRequest(this.#request) : undefined
    const cost = options.cost ?? (about && hooks.cost?.(about))
    const { grant, giveUp } = runtime.booking.book({
      tenant: this.#tenant,
      weight: upstream.weights[this.#tenant] ?? 1,
      priorityMs: options.priority ?? 0,
      arrivedMs: this.#arrivedMs,
      maxWaitMs: Math.min(options.maxWaitMs ?? Infinity, upstream.maxWaitMs),
      scope: (about && hooks.scope?.(about)) ?? '',
      units: unitsOf(upstream.limits, cost),
      first: this.#attempts === 0,
    })
    this.#giveUp = giveUp
    grant.then(
      (given) => this.#send(given),
      (error) => this.#refused(toError(error)),
    )
  }

  #refused(error: Error): void {
    if (error instanceof RefusedError) {
      const { runtime } = this.#context
      const waitMs = runtime.clock.monotonic() - this.#arrivedMs
      runtime.events.emit('refused', { upstream: runtime.name, tenant: this.#tenant, reason: error.reason, waitMs })
    }
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
    runtime.events.emit('granted', {
      upstream: runtime.name,
      tenant: this.#tenant,
      waitMs: grant.waitedMs,
      attempt: this.#attempts,
    })
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

  responded(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    const { runtime, onResponse } = this.#context
    const firstByteMs = runtime.clock.monotonic() - (this.#attempt?.writtenMs ?? 0)
    const about = { upstream: runtime.name, tenant: this.#tenant, status, waitMs: this.#waitMs, firstByteMs }
    runtime.events.emit('responded', { ...about, attempt: this.#attempts })
    onResponse?.({ waitMs: this.#waitMs, attempts: this.#attempts })
    return this.#handler.onHeaders(status, headers, resume, statusText)
  }

  data(chunk: Buffer): boolean {
    return this.#handler.onData(chunk)
  }

  ended(trailers: Buffer[] | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onComplete(trailers)
  }

  failed(error: Error, written: boolean): void {
    if (error instanceof LateGrant) {
      // Nothing was written. It books again and keeps its place in the order.
      this.#attempts -= 1
      this.#book()
      return
    }
    this.#end(error instanceof UpstreamError ? error : this.#upstreamError(error, written))
  }

  actualUnits(): Units | undefined {
    return undefined
  }

  #upstreamError(error: Error, written: boolean): UpstreamError {
    return new UpstreamError(written ? 'reset' : 'unreachable', this.#context.runtime.name, written, error)
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
