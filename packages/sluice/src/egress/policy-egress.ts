import type { Dispatcher, RequestInfo, RequestInit, Response } from 'undici'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { isSluiceError } from '../core/errors.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { UsedPolicy } from '../policy/live/use-policy.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import { type CloseOptions, closeWithinMs, HealthQuestion, type PartHealth } from '../runtime/part.ts'
import { Call } from './call/call.ts'
import type { CallContext } from './call/call-context.ts'
import type { Undici } from './call/load-undici.ts'
import { encodeForm, type PlatformRequest, splitRequest } from './call/platform-request.ts'
import { ReceivedResponse } from './call/received-response.ts'
import { toResponseHandler } from './call/response-handler.ts'
import type {
  CallOptions,
  Egress,
  ResponseReceiver,
  UpstreamRequest,
  UpstreamResponse,
  UpstreamStats,
} from './egress.ts'
import { RefusedError } from './egress-error.ts'
import type { EgressEvents } from './events.ts'
import { egressHealth } from './health.ts'
import { checkCallOptions, type UpstreamHooks } from './options.ts'
import type { OutageMode } from './places/outage.ts'
import type { BookingPort } from './places/ports/booking-port.ts'
import { pathAt, Routes } from './route.ts'
import { statsOf } from './stats.ts'
import { UpstreamReports } from './upstream-reports.ts'
import { UpstreamRuntime } from './upstream-runtime.ts'

export interface PolicyEgressOptions {
  readonly policy: UsedPolicy
  readonly undici: Undici
  readonly clock: Clock
  readonly events: Emitter<EgressEvents>
  readonly port: BookingPort
  /** A name in shared state that nobody had before. */
  readonly newOwner: () => string
  readonly hooks: Readonly<Record<string, UpstreamHooks>>
  readonly dispatcher: Dispatcher | undefined
  readonly deadlineMs: number
  readonly replicas: number | undefined
  readonly random: () => number
  readonly beforeClose: () => Promise<void>
}

const noOptions: CallOptions = Object.freeze({})

/** Egress that follows a policy: one runtime per upstream, made when it is first called. */
export class PolicyEgress implements Egress {
  readonly #options: PolicyEgressOptions
  readonly #runtimes = new Map<string, UpstreamRuntime>()
  /** They outlive a runtime whose upstream leaves the policy and comes back. */
  readonly #reports = new Map<string, UpstreamReports>()
  readonly #dispatcher: Dispatcher
  readonly #reachable: HealthQuestion<boolean>
  readonly #routes: Routes
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: PolicyEgressOptions) {
    this.#options = options
    this.#routes = new Routes(() => this.upstreams)
    const { port, clock } = options
    this.#reachable = new HealthQuestion(async (withinMs) => (await port.isReachable?.(withinMs)) ?? true, clock)
    this.#dispatcher = options.dispatcher ?? new options.undici.Agent({ pipelining: 1, allowH2: false })
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
    const { sluice = {}, ...given } = init ?? {}
    checkCallOptions(sluice)
    const { undici } = this.#options
    const { url, init: own } = await splitRequest(input, (each) => each instanceof undici.Request)
    const rest = await encodeForm({ ...own, ...given }, (each) => each instanceof undici.FormData)
    const body = inMemory(rest.body)
    const dispatcher = this.#dispatcherFor((request, handler) =>
      // A redirect may drop the body.
      this.#dispatch(body === undefined || !request.body ? request : { ...request, body }, handler, sluice),
    )
    try {
      return await undici.fetch(url, { redirect: 'manual', ...rest, dispatcher })
    } catch (error) {
      // `fetch` wraps every error of a dispatcher; a refusal is thrown unwrapped.
      const { cause } = error as { cause?: unknown }
      throw isSluiceError(cause) ? cause : error
    }
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { upstream: name, path, method, headers = {}, body = null, signal, sluice = {}, timeout } = request
    checkCallOptions(sluice)
    const upstream = this.#routes.named(name)
    let about = { waitMs: 0, attempts: 0 }
    const dispatcher = this.#dispatcherFor((asked, handler) =>
      this.#start(this.#runtime(upstream), asked, handler, sluice, this.#transport, timeoutOf(timeout), (reported) => {
        about = { waitMs: reported.waitMs, attempts: reported.attempts }
      }),
    )
    const response = await this.#options.undici.request(upstream.origin, {
      path: pathAt(upstream, path),
      method: method as Dispatcher.HttpMethod,
      headers: headers as string[],
      body: body as Dispatcher.DispatchOptions['body'],
      signal: signal ?? null,
      responseHeaders: 'raw',
      dispatcher: dispatcher as Dispatcher,
    } as never)
    return {
      status: response.statusCode,
      rawHeaders: response.headers as unknown as readonly Buffer[],
      body: response.body,
      trailers: response.trailers,
      upstream: name,
      ...about,
    }
  }

  send(request: Omit<UpstreamRequest, 'signal'>, receiver: ResponseReceiver): (reason: Error) => void {
    const { upstream: name, path, method, headers = {}, body = null, sluice = noOptions, timeout } = request
    checkCallOptions(sluice)
    const upstream = this.#routes.named(name)
    const response = new ReceivedResponse(receiver)
    const asked = { origin: upstream.origin, path: pathAt(upstream, path), method, headers, body, headersTimeout: 0 }
    this.#start(
      this.#runtime(upstream),
      asked as Dispatcher.DispatchOptions,
      response as unknown as Dispatcher.DispatchHandler,
      sluice,
      this.#transport,
      timeoutOf(timeout),
      (about) => response.describe(about),
    )
    return (reason) => response.abort(reason)
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
    const outageOf = (name: string): OutageMode | undefined => this.#runtimes.get(name)?.booking.outage
    return egressHealth(this.upstreams, outageOf, isReachable, this.#options.replicas)
  }

  /** Another version of the policy is in force: upstreams that stay keep their booking. */
  follow({ upstreams }: CompiledPolicy): void {
    for (const upstream of upstreams) this.#runtimes.get(upstream.name)?.update(upstream)
    for (const [name, { booking }] of this.#runtimes) {
      if (upstreams.some((upstream) => upstream.name === name)) continue
      this.#runtimes.delete(name)
      void booking.close()
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
    await this.#options.beforeClose()
    await Promise.all(Array.from(this.#runtimes.values(), ({ booking }) => booking.close()))
    // A dispatcher that was passed in belongs to the application.
    if (this.#options.dispatcher === undefined) await this.#closeDispatcher(withinMs)
    await this.#options.port.close()
    await this.#options.policy.close()
  }

  async #closeDispatcher(withinMs: number | undefined): Promise<void> {
    const { clock } = this.#options
    const bookings = Array.from(this.#runtimes.values(), ({ booking }) => booking)
    const isBusy = (): boolean => bookings.some(({ inFlight }) => inFlight > 0)
    // An agent that is closing can no longer be destroyed, as it dropped its connections. So wait before closing it.
    const endMs = clock.monotonic() + (withinMs ?? Infinity)
    while (withinMs !== undefined && isBusy() && clock.monotonic() < endMs)
      await new Promise<void>((resolve) => clock.setTimeout(resolve, Math.min(20, withinMs)))
    if (withinMs !== undefined && isBusy()) await this.#dispatcher.destroy()
    else await this.#dispatcher.close()
  }

  readonly #transport: Dispatcher['dispatch'] = (request, handler) => this.#dispatcher.dispatch(request, handler)

  #dispatch(
    request: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    options: CallOptions,
    transport: Dispatcher['dispatch'] = this.#transport,
  ): boolean {
    let upstream: CompiledUpstream
    try {
      upstream = this.#routes.of(request)
    } catch (error) {
      this.#refuse(handler, error as Error)
      return true
    }
    return this.#start(this.#runtime(upstream), request, handler, options, transport)
  }

  #start(
    runtime: UpstreamRuntime,
    request: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    options: CallOptions,
    transport: Dispatcher['dispatch'],
    timeoutMs?: number,
    onResponse?: CallContext['onResponse'],
  ): boolean {
    const { undici } = this.#options
    try {
      if (this.#closed) throw new RefusedError('closed', runtime.name)
      const context = { runtime, undici, transport, options, timeoutMs, onResponse }
      new Call(context, request, handler).start()
    } catch (error) {
      this.#refuse(handler, error as Error)
    }
    return true
  }

  #refuse(handler: Dispatcher.DispatchHandler, error: Error): void {
    toResponseHandler(handler, this.#options.undici).onError(error)
  }

  #dispatcherFor(dispatch: Dispatcher['dispatch']): Dispatcher {
    return { dispatch } as Dispatcher
  }

  #runtime(upstream: CompiledUpstream): UpstreamRuntime {
    const known = this.#runtimes.get(upstream.name)
    if (known) return known
    const { policy, hooks, ...shared } = this.#options
    const reports = this.#reports.get(upstream.name) ?? new UpstreamReports(upstream.name, shared.events, shared.clock)
    this.#reports.set(upstream.name, reports)
    const own = { ...shared, reports, service: policy.live.current.service, hooks: hooks[upstream.name] ?? {} }
    const runtime = new UpstreamRuntime(upstream, own)
    this.#runtimes.set(upstream.name, runtime)
    return runtime
  }
}

/** A body that can be sent again, where `fetch` would make a stream of it. */
function inMemory(body: RequestInit['body']): string | Uint8Array | undefined {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (body instanceof URLSearchParams) return body.toString()
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  return undefined
}

const timeoutOf = (timeout: Duration | undefined): number | undefined =>
  timeout === undefined ? undefined : parseDuration(timeout, 'egress request.timeout')
