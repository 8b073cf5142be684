import type { Readable } from 'node:stream'
import type { Dispatcher, RequestInfo, RequestInit, Response } from 'undici'
import type { PolicyStatus } from '../policy/live/live-policy.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import type { EgressEvents } from './events.ts'

/** What a caller says about one call. */
export interface CallOptions {
  /** Whose share of the upstream it uses, where `fairBy` does not say. */
  readonly tenant?: string
  /** How much earlier than its arrival it is ordered, in milliseconds; negative is later. */
  readonly priority?: number
  /** Longest wait for a grant; at most what the upstream allows. */
  readonly maxWaitMs?: number
  /** What it is expected to cost: units for all limits that do not count requests, or by unit. */
  readonly cost?: number | Readonly<Record<string, number>>
}

/** A request to one upstream, as a proxy has it. */
export interface UpstreamRequest {
  /** The upstream by name. */
  readonly upstream: string
  /** Path and query; the upstream's path prefix is put before it. */
  readonly path: string
  readonly method: string
  /** Names and values in turn, or by name. Framing is made from the body, not from these. */
  readonly headers?: readonly string[] | Readonly<Record<string, string | readonly string[]>>
  /** Read only once a grant is there. A stream is sent once; what is in memory can be sent again. */
  readonly body?: Readable | Uint8Array | string | null
  /** Gives up: a waiting call leaves the queue, one that is written is ended once its response begins. */
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly sluice?: CallOptions
}

/** The response of an upstream, its body still to be read. */
export interface UpstreamResponse {
  readonly status: number
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly Buffer[]
  readonly body: Readable
  /** Filled in when the body has ended. */
  readonly trailers: Readonly<Record<string, string>>
  readonly upstream: string
  /** How long it waited for its grant, all attempts together. */
  readonly waitMs: number
  readonly attempts: number
}

/** How one upstream stands, as this process knows. */
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
  /** What an estimated bound keeps free for the spread of delays. */
  readonly marginMs: number
  readonly recovering: boolean
  /** Whether shared state cannot be reached. */
  readonly degraded: boolean
  readonly granted: number
  readonly refused: Readonly<Record<string, number>>
  readonly responses: Readonly<Record<string, number>>
  readonly failures: Readonly<Record<string, number>>
  readonly retries: number
  /** Time waited for grants, over the last thousand of them. */
  readonly waitMs: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Calls granted per second, over the last ten seconds. */
  readonly ratePerSecond: number
}

/** Calls going out, held to what each vendor allows. */
export interface Egress {
  /**
   * Like the platform's `fetch`, on a grant. Redirects are not followed unless the request says so, as each one needs a
   * grant.
   */
  fetch(input: RequestInfo, init?: RequestInit & { readonly sluice?: CallOptions }): Promise<Response>
  /** Sends one request to an upstream by name; for proxies. */
  request(request: UpstreamRequest): Promise<UpstreamResponse>
  /** An undici interceptor: every dispatch through it is on a grant. `new Agent().compose(egress.interceptor())`. */
  interceptor(options?: CallOptions): Dispatcher.DispatcherComposeInterceptor
  on<Name extends keyof EgressEvents>(name: Name, listener: (event: EgressEvents[Name]) => void): () => void
  stats(): readonly UpstreamStats[]
  readonly upstreams: readonly CompiledUpstream[]
  readonly policy: PolicyStatus & { readonly service: string }
  /** Whether calls can be granted now, and what an operator should know. */
  health(): EgressHealth
  /**
   * Refuses all that waits, lets what is in flight end, and lets go of everything. With `withinMs`, what is in flight
   * after so long is ended, if the dispatcher is its own.
   */
  close(options?: { readonly withinMs?: number }): Promise<void>
}

export interface EgressHealth {
  readonly ready: boolean
  /** `redis`: shared state cannot be reached and places are used up. */
  readonly reason: 'redis' | 'closed' | undefined
  readonly warnings: readonly string[]
}
