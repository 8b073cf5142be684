import type { Dispatcher, RequestInfo, RequestInit, Response } from 'undici'
import { type Duration, parseDuration } from '../core/duration.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { UsedPolicy } from '../policy/live/live-policy.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import { type CloseOptions, closeInTime, closeWithinMs, HealthQuestion, type PartHealth } from '../runtime/part.ts'
import { Call } from './call/call.ts'
import type { CallContext, ResponseAbout } from './call/call-context.ts'
import { deferredCall, onceThen } from './call/deferred-call.ts'
import { fetchRequest } from './call/fetch-request.ts'
import { type ResponseHandler, toReceiver, toResponseHandler } from './call/response-handler.ts'
import { runWithGrant } from './call/run-with-grant.ts'
import type {
  CallOptions,
  Egress,
  PlatformRequest,
  ResponseReceiver,
  RunOptions,
  UpstreamRequest,
  UpstreamResponse,
  UpstreamStats,
} from './egress.ts'
import { RefusedError } from './egress-error.ts'
import type { EgressEvents } from './events.ts'
import { arrivalWarning, egressHealth, type Noticed } from './health.ts'
import { checkCallOptions, checkRunOptions, type UpstreamHooks } from './options.ts'
import { pathAt, Routes } from './route.ts'
import { statsOf } from './stats.ts'
import { UpstreamReports } from './upstream-reports.ts'
import { type SharedOptions, UpstreamRuntime } from './upstream-runtime.ts'

export interface PolicyEgressOptions extends SharedOptions {
  readonly policy: UsedPolicy
  readonly events: Emitter<EgressEvents>
  readonly hooks: Readonly<Record<string, UpstreamHooks>>
  readonly dispatcher: Dispatcher | undefined
  readonly beforeClose: () => Promise<void>
}

const noOptions: CallOptions = Object.freeze({})
const noAbout: ResponseAbout = Object.freeze({ waitMs: 0, attempts: 0, fields: [] })

/**
 * Egress that follows a policy: one `UpstreamRuntime` for each upstream, made when it is first called. The way of one
 * call, with the files to read:
 *
 *     fetch, request, send, interceptor             run
 *       |  body read, up to 1 MB                     |     call/fetch-request.ts, call/outgoing-request.ts
 *       |  upstream by origin and path, or name      |     route.ts
 *       v                                            v
 *     Call <- hooks: tenant, scope, cost            Run    call/call.ts, call/units.ts; call/run-with-grant.ts
 *       |                                            |
 *       +------------------->  Turn  <---------------+     call/turn.ts
 *                               |  breaker                 upstream-runtime.ts
 *                               |  a connection is ready   connection/connections.ts
 *                               |  booked                  booking/booking-client.ts: waiting-call.ts
 *                               v
 *             ExchangeLoop: steps of all calls together    booking/exchange-loop.ts, messages.ts
 *               |                          |
 *               v                          v
 *          in this process               Redis             booking/memory-port.ts; redis-port.ts
 *          engine/exchange.ts       lua/exchange.lua       the same decisions, in the same files
 *               |                          |
 *               +------>  Grant  <---------+               booking/booking-side.ts, booking/grant.ts
 *                           |
 *      too old: again       v
 *       +--------------- Attempt                           call/attempt.ts, connection/arrival.ts
 *       |                   |    written, answered, over -> the grant, which reports it in the next exchange
 *       |  retried          v
 *       +------------ judged, once: pause, retry, pass on  vendor/, call/response-head.ts, call/may-retry.ts
 *                           |
 *                           v
 *                       the caller                         call/held-response.ts, call/deferred-call.ts
 */
export class PolicyEgress implements Egress {
  readonly #options: PolicyEgressOptions
  readonly #runtimes = new Map<string, UpstreamRuntime>()
  /** They outlive a runtime whose upstream leaves the policy and comes back. */
  readonly #reports = new Map<string, UpstreamReports>()
  /** What requests are sent through; undefined for our own connections. */
  readonly #transport: Dispatcher['dispatch'] | undefined
  readonly #reachable: HealthQuestion<boolean>
  readonly #routes: Routes
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: PolicyEgressOptions) {
    this.#options = options
    this.#routes = new Routes(() => this.upstreams)
    const { port, clock } = options
    this.#reachable = new HealthQuestion(async (withinMs) => (await port.isReachable?.(withinMs)) ?? true, clock)
    const { dispatcher } = options
    this.#transport = dispatcher && ((request, handler) => dispatcher.dispatch(request, handler))
  }

  get upstreams(): readonly CompiledUpstream[] {
    return this.#options.policy.live.current.upstreams
  }

  get policy(): Egress['policy'] {
    const { live } = this.#options.policy
    return { ...live.status, service: live.current.service }
  }

  async fetch(
    input: RequestInfo | PlatformRequest,
    init?: RequestInit & { readonly sluice?: CallOptions },
  ): Promise<Response> {
    const { sluice = noOptions, ...given } = init ?? {}
    checkCallOptions(sluice)
    const { undici } = this.#options
    const { url, init: rest, bytes } = await fetchRequest(input, given, undici)
    const { method = 'GET', headers = null, signal } = rest
    const { origin, pathname, search } = url
    const asked = { origin, path: pathname + search, method: method.toUpperCase(), headers, body: bytes ?? null }
    const runtime = this.#runtime(this.#routes.of(asked as Dispatcher.DispatchOptions))
    const context = { runtime, transport: this.#transport, options: sluice }
    return this.#defer(asked as Dispatcher.DispatchOptions, signal, context, (first) => {
      // A redirect may drop the body.
      const following: Dispatcher['dispatch'] = (next, handler) =>
        this.#dispatch(next.body && bytes !== undefined ? { ...next, body: bytes } : next, handler, sluice)
      return undici.fetch(url, { redirect: 'manual', ...rest, dispatcher: onceThen(first, following) })
    })
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { upstream, path, method, headers = {}, body = null, signal, sluice = noOptions, timeout } = request
    let about = noAbout
    const context = this.#contextOf(upstream, sluice, timeout)
    const { origin } = context.runtime.upstream
    const asked = { origin, path: pathAt(context.runtime.upstream, path), method, headers, body }
    context.onResponse = (given) => {
      about = given
    }
    return this.#defer(asked as Dispatcher.DispatchOptions, signal, context, async (dispatch) => {
      const options = { ...asked, signal: signal ?? null, responseHeaders: 'raw', dispatcher: { dispatch } }
      const response = await this.#options.undici.request(origin, options as never)
      const { waitMs, attempts } = about
      return {
        status: response.statusCode,
        rawHeaders: response.headers as unknown as readonly Buffer[],
        body: response.body,
        trailers: response.trailers,
        ...{ upstream, waitMs, attempts },
      }
    })
  }

  send(request: Omit<UpstreamRequest, 'signal'>, receiver: ResponseReceiver): (reason: Error) => void {
    const { upstream, path, method, headers = {}, body = null, sluice = noOptions, timeout } = request
    const context = this.#contextOf(upstream, sluice, timeout)
    const { origin } = context.runtime.upstream
    let about = noAbout
    const response = toReceiver(receiver, () => about)
    const asked = { origin, path: pathAt(context.runtime.upstream, path), method, headers, body, headersTimeout: 0 }
    context.onResponse = (given) => {
      about = given
    }
    this.#start(asked as Dispatcher.DispatchOptions, response, context)
    return response.abort
  }

  async run<T>(name: string, work: (signal: AbortSignal) => T, options: RunOptions = {}): Promise<Awaited<T>> {
    checkRunOptions(options)
    const runtime = this.#runtime(this.#routes.named(name))
    if (this.#closed) throw new RefusedError('closed', runtime.name)
    return runWithGrant(runtime, work, options)
  }

  interceptor(options: CallOptions = {}): Dispatcher.DispatcherComposeInterceptor {
    checkCallOptions(options)
    return (transport) => (request, handler) => this.#dispatch(request, handler, options, transport)
  }

  on<Name extends keyof EgressEvents>(name: Name, listener: (event: EgressEvents[Name]) => void): () => void {
    return this.#options.events.on(name, listener)
  }

  stats(): readonly UpstreamStats[] {
    return this.upstreams.map((upstream) => statsOf(this.#runtime(upstream)))
  }

  async health(): Promise<PartHealth> {
    if (this.#closed) return { ready: false, reasons: ['The egress is closed.'], warnings: [] }
    // Without calls nothing else would notice that Redis is gone.
    const isReachable = await this.#reachable.answer()
    const noticedBy = (name: string): Noticed | undefined => this.#runtimes.get(name)?.booking
    const health = egressHealth(this.upstreams, noticedBy, isReachable, this.#options.replicas)
    const hints = this.upstreams.map((upstream) => {
      const { roundTripMs, reports } = this.#runtime(upstream)
      const { leastFirstByteMs } = reports.counts
      return arrivalWarning(upstream, this.#transport !== undefined, roundTripMs, leastFirstByteMs)
    })
    return { ...health, warnings: [...health.warnings, ...hints.filter((text) => text !== undefined)] }
  }

  /** Another version of the policy is in force: upstreams that stay keep their booking. */
  follow({ upstreams }: CompiledPolicy): void {
    for (const upstream of upstreams) this.#runtimes.get(upstream.name)?.update(upstream)
    for (const [name, { booking, connections }] of this.#runtimes) {
      if (upstreams.some((upstream) => upstream.name === name)) continue
      this.#runtimes.delete(name)
      void booking.close()
      void connections.close()
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const withinMs = closeWithinMs('egress.close', options)
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  async #close(withinMs: number | undefined): Promise<void> {
    this.#closed = true
    const { beforeClose, port, policy, clock } = this.#options
    const inTime = closeInTime(withinMs, clock)
    const endMs = clock.monotonic() + (withinMs ?? Infinity)
    await inTime(beforeClose())
    await inTime(Promise.all(Array.from(this.#runtimes.values(), ({ booking }) => booking.close())))
    await this.#closeConnections(withinMs, endMs)
    await inTime(port.close())
    await inTime(policy.close())
  }

  /** Those of the application's dispatcher belong to the application. */
  async #closeConnections(withinMs: number | undefined, endMs: number): Promise<void> {
    const { clock } = this.#options
    const runtimes = [...this.#runtimes.values()]
    const isBusy = (): boolean => runtimes.some(({ booking }) => booking.inFlight > 0)
    while (withinMs !== undefined && isBusy() && clock.monotonic() < endMs)
      await new Promise<void>((resolve) => clock.setTimeout(resolve, Math.min(20, withinMs)))
    const isAtOnce = withinMs !== undefined
    await Promise.all(runtimes.map(({ connections }) => connections.close(isAtOnce)))
  }

  #dispatch(
    request: Dispatcher.DispatchOptions,
    given: Dispatcher.DispatchHandler,
    options: CallOptions,
    transport: Dispatcher['dispatch'] | undefined = this.#transport,
  ): boolean {
    const handler = toResponseHandler(given, this.#options.undici)
    try {
      this.#start(request, handler, { runtime: this.#runtime(this.#routes.of(request)), transport, options })
    } catch (error) {
      handler.onError(error as Error)
    }
    return true
  }

  #contextOf(name: string, options: CallOptions, timeout: Duration | undefined): CallContext {
    checkCallOptions(options)
    const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout, 'egress request.timeout')
    const runtime = this.#runtime(this.#routes.withOrigin(name))
    return { runtime, transport: this.#transport, options, timeoutMs }
  }

  #start(request: Dispatcher.DispatchOptions, handler: ResponseHandler, context: CallContext): void {
    try {
      if (this.#closed) throw new RefusedError('closed', context.runtime.name)
      new Call(context, request, handler).start()
    } catch (error) {
      handler.onError(error as Error)
    }
  }

  /** Starts a call whose request is made when it is granted. */
  #defer<R>(
    request: Dispatcher.DispatchOptions,
    signal: AbortSignal | null | undefined,
    context: CallContext,
    make: (dispatch: Dispatcher['dispatch']) => Promise<R>,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      const deferred = deferredCall(signal, make, resolve, reject)
      context.deferred = deferred
      // It has its response only once it has its request, and another handler.
      this.#start(request, deferred as unknown as ResponseHandler, context)
    })
  }

  #runtime(upstream: CompiledUpstream): UpstreamRuntime {
    const known = this.#runtimes.get(upstream.name)
    if (known) return known
    const { events, clock, hooks } = this.#options
    const reports = this.#reports.get(upstream.name) ?? new UpstreamReports(upstream.name, events, clock)
    this.#reports.set(upstream.name, reports)
    const runtime = new UpstreamRuntime(upstream, this.#options, reports, hooks[upstream.name] ?? {})
    this.#runtimes.set(upstream.name, runtime)
    return runtime
  }
}
