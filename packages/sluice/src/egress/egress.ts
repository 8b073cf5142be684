import type { Readable } from 'node:stream'
import type { Dispatcher, RequestInfo, RequestInit, Response } from 'undici'
import type { Duration } from '../core/duration.ts'
import type { PolicyStatus } from '../policy/live/live-policy.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import type { CloseOptions, Part } from '../runtime/part.ts'
import type { EgressEvents } from './events.ts'

/** A `Request` of the platform: it belongs to the copy of undici inside Node, not to ours. */
export type PlatformRequest = InstanceType<typeof globalThis.Request>

/** Options of one call. */
export interface CallOptions {
  /** The tenant whose share of the upstream it uses, where `fairBy` does not decide. */
  readonly tenant?: string
  /** Who calls, such as one client of a proxy: shares are fair between callers first, then between their tenants. */
  readonly caller?: string
  /**
   * Moves the call forward in the queue, as if it had arrived this much earlier, in milliseconds; negative is later.
   */
  readonly priority?: number
  /** Longest wait for a grant; at most what the upstream allows. */
  readonly maxWait?: Duration
  /** What it is expected to cost: units for all limits that do not count requests, or by unit. */
  readonly cost?: number | Readonly<Record<string, number>>
}

/** Options of one piece of work. */
export interface RunOptions extends CallOptions {
  /** Aborts: work that waits leaves the queue; the signal of work that has begun is aborted. */
  readonly signal?: AbortSignal
  /** How often to try when the work throws; 1 by default, as a throw does not tell whether anything was done. */
  readonly attempts?: number
}

/** A request to one upstream, as a proxy receives it. */
export interface UpstreamRequest {
  /** The upstream by name. */
  readonly upstream: string
  /** Path and query; the upstream's path prefix is prepended. */
  readonly path: string
  readonly method: string
  /** Names and values alternating, or an object by name. Framing headers are derived from the body, not from these. */
  readonly headers?: readonly string[] | Readonly<Record<string, string | readonly string[]>>
  /** Up to 1 MB are read before the call is booked, and can be sent again; what is longer is sent as it comes, once. */
  readonly body?: Readable | Uint8Array | string | null
  /** Aborts: a waiting call leaves the queue; one that is already written is ended once its response begins. */
  readonly signal?: AbortSignal
  readonly timeout?: Duration
  readonly sluice?: CallOptions
}

/** The response of an upstream; its body is still to be read. */
export interface UpstreamResponse {
  readonly status: number
  /** Names and values alternating, as received. */
  readonly rawHeaders: readonly Buffer[]
  readonly body: Readable
  /** Filled in when the body has ended. */
  readonly trailers: Readonly<Record<string, string>>
  readonly upstream: string
  /** How long it waited for grants, over all attempts. */
  readonly waitMs: number
  readonly attempts: number
}

/** The head of a response that is passed on as it arrives. */
export interface UpstreamHead {
  readonly status: number
  /** Names in lower case and values, alternating. */
  readonly headers: readonly string[]
  /** How long it waited for grants, over all attempts. */
  readonly waitMs: number
  readonly attempts: number
  /** Continues after `responded` or `data` returned false. */
  resume(): void
}

/** Receives a response as it arrives. No method is called after `ended` or `failed`. */
export interface ResponseReceiver {
  /** The head of the final response. False stops reading until `head.resume()`. */
  responded(head: UpstreamHead): boolean
  /** A piece of the body. False stops reading until `head.resume()`. */
  data(chunk: Buffer): boolean
  ended(trailers: Readonly<Record<string, string>>): void
  /** There is no response, or only a part of it; `reason` is that of the caller's abort, if it aborted. */
  failed(error: Error): void
}

/** The state of one upstream, as seen by this process. */
export interface UpstreamStats {
  readonly name: string
  /** Calls that wait, on all replicas. */
  readonly depth: number
  /** Calls of this process that wait, and that hold a grant. */
  readonly waiting: number
  readonly inFlight: number
  /** By limit: units taken on all replicas, and how many there are. */
  readonly limits: readonly {
    readonly name: string
    readonly used: number
    readonly amount: number
    readonly periodMs: number
  }[]
  readonly pausedMs: number
  /** How long a small request counts as being on its way; undefined where only its response proves that it arrived. */
  readonly arrivalMs: number | undefined
  /** For how much longer nothing is granted because shared state was lost. */
  readonly recoveringMs: number
  /** For how much longer a limit is paced because calls before the loss are not known. */
  readonly pacedMs: number
  /** What a request counts as its arrival at least, since the vendor refused although there was room; 0 if not. */
  readonly widenedMs: number
  /** Whether shared state cannot be reached. */
  readonly degraded: boolean
  readonly granted: number
  readonly refused: Readonly<Record<string, number>>
  readonly responses: Readonly<Record<string, number>>
  readonly failures: Readonly<Record<string, number>>
  readonly retries: number
  /** Time waited for grants, over the last thousand of them. */
  readonly waitMs: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Calls granted per second, over the last ten seconds, or since it began where that is less. */
  readonly ratePerSecond: number
}

/** Outgoing calls, held within the limits of each vendor. */
export interface Egress extends Part<EgressEvents> {
  /**
   * Like the platform's `fetch`, after a grant. Redirects are not followed unless the request asks for it, as each one
   * needs a grant of its own.
   */
  fetch(input: RequestInfo | PlatformRequest, init?: RequestInit & { readonly sluice?: CallOptions }): Promise<Response>
  /** Sends one request to an upstream by name; for proxies. */
  request(request: UpstreamRequest): Promise<UpstreamResponse>
  /**
   * The same without a promise and a stream, for proxies with many calls. The returned function aborts the call, as
   * `signal` does.
   */
  send(request: Omit<UpstreamRequest, 'signal'>, receiver: ResponseReceiver): (reason: Error) => void
  /**
   * Calls `work` within the limits of an upstream: for SDKs, gRPC, mail or a database. It counts as one call, also if
   * it throws, and is not repeated unless `attempts` is given.
   *
   * @example
   * const rows = await egress.run('warehouse', (signal) => fetch('http://warehouse.example/rows', { signal }))
   */
  run<T>(upstream: string, work: (signal: AbortSignal) => T, options?: RunOptions): Promise<Awaited<T>>
  /**
   * An undici interceptor: every dispatch through it waits for a grant. `new Agent().compose(egress.interceptor())`.
   */
  interceptor(options?: CallOptions): Dispatcher.DispatcherComposeInterceptor
  stats(): readonly UpstreamStats[]
  readonly upstreams: readonly CompiledUpstream[]
  readonly policy: PolicyStatus & { readonly service: string }
  /**
   * Refuses all waiting calls, waits for those in flight, and releases all resources. With `within`, calls still in
   * flight after that time are ended, if egress created the dispatcher itself.
   */
  close(options?: CloseOptions): Promise<void>
}
