import type { buildConnector, Dispatcher } from 'undici'
import { callOptionCheck, checkFunction, checkOptionNames, checkWhole, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import type { PolicyInput } from '../policy/live/open-policy.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import type { RedisHandle } from '../redis/handle.ts'
import type { BookingPort } from './booking/messages.ts'
import type { CallOptions, RunOptions } from './egress.ts'

/** A request before it is sent, as passed to hooks. */
export interface OutgoingRequest {
  readonly method: string
  readonly origin: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body where it is in memory; undefined for a stream. */
  readonly body: string | Uint8Array | undefined
}

/** A response as passed to hooks. */
export interface IncomingResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The beginning of the body, decoded, if the hook needs it and it is text. */
  readonly body: string | undefined
}

/** What a response means for the upstream: nothing, or that a limit was exceeded. */
export type Classification =
  | { readonly limited: false }
  | { readonly limited: true; readonly retryAfterMs?: number | undefined; readonly retry?: boolean | undefined }

/** Hooks for what is special about one vendor. All of them are optional. */
export interface UpstreamHooks {
  /** What a call is expected to cost: units for all limits that do not count requests, or by unit. */
  readonly cost?: (request: OutgoingRequest) => number | Readonly<Record<string, number>>
  /** What a call actually cost; undefined keeps the expected cost. */
  readonly settle?: (response: IncomingResponse) => number | Readonly<Record<string, number>> | undefined
  /** Whether a response reports a limit that its status does not. */
  readonly classify?: (response: IncomingResponse) => Classification | undefined
  /** Which part of the upstream a pause applies to, such as a route; all of it when undefined. */
  readonly scope?: (request: OutgoingRequest) => string | undefined
  /** Whose share of the upstream a call uses. */
  readonly fairBy?: (request: OutgoingRequest) => string | undefined
}

export interface EgressOptions {
  /** What to enforce: a plain policy object with `upstreams`, a policy source, or what `openPolicy` opened. */
  readonly policy: PolicyInput
  /** Where the state of upstreams is shared by all replicas: a handle of `openRedis`. In this process when left out. */
  readonly redis?: RedisHandle
  /** Where the state of upstreams is kept, if neither in Redis nor in this egress alone. Its maker closes it. */
  readonly store?: BookingPort
  /** Distinguishes egresses of one process in reports. */
  readonly name?: string
  /** By the name of the upstream. */
  readonly hooks?: Readonly<Record<string, UpstreamHooks>>
  /**
   * What requests are sent through instead of connections of egress, such as a `ProxyAgent`. It must use HTTP/1.1 with
   * one request per connection at a time. Egress cannot see its connections: `arrival: auto` is `response` through it.
   */
  readonly dispatcher?: Dispatcher
  /** How connections are opened, as in undici's `Agent`: `ca`, `cert`, `key`, `localAddress` and the like. */
  readonly connect?: buildConnector.BuildOptions
  /** Within what time shared state must answer. 500 ms by default. */
  readonly deadline?: Duration
  /**
   * How many replicas share the limits under `onStoreFailure: local` while the store cannot be reached. Without it, a
   * replica that does not yet know the number of replicas grants nothing during an outage.
   */
  readonly replicas?: number
  /** For tests. */
  readonly clock?: Clock
  readonly random?: () => number
}

const callFields = { tenant: true, caller: true, priority: true, maxWait: true, cost: true } as const
const callNames = optionNames<CallOptions>(callFields)
const runNames = optionNames<RunOptions>({ ...callFields, signal: true, attempts: true })

const checkCallNames = callOptionCheck('egress call', callNames)
const checkRunNames = callOptionCheck('egress run', runNames)

/**
 * Refuses call options that make no sense. What is no number would fail the exchange with shared state, and with it the
 * calls of others.
 */
export function checkCallOptions(options: CallOptions): void {
  checkCallNames(options)
  checkValues(options)
}

/** The same for `egress.run`. */
export function checkRunOptions(options: RunOptions): void {
  checkRunNames(options)
  checkValues(options)
  if (options.attempts !== undefined) checkWhole('egress run.attempts', options.attempts, 1, 'attempts')
}

function checkValues({ priority, maxWait }: CallOptions): void {
  if (priority !== undefined && !Number.isFinite(priority))
    throw invalidOption('egress call.priority', priority, 'use a number of milliseconds')
  if (maxWait !== undefined) parseDuration(maxWait, 'egress call.maxWait')
}

const known = [
  'policy',
  'redis',
  'store',
  'name',
  'hooks',
  'dispatcher',
  'connect',
  'deadline',
  'replicas',
  'clock',
  'random',
]
const knownHooks = ['cost', 'settle', 'classify', 'scope', 'fairBy']

/** Refuses options that make no sense. */
export function checkOptions(options: EgressOptions): void {
  checkOptionNames('createEgress', options, known)
  if (typeof options.policy !== 'object' || options.policy === null)
    throw invalidOption(
      'createEgress.policy',
      options.policy,
      'pass a policy object with upstreams, or a policy source',
    )
  for (const [name, hooks] of Object.entries(options.hooks ?? {})) {
    checkOptionNames(`createEgress.hooks.${name}`, hooks, knownHooks)
    for (const [hook, value] of Object.entries(hooks)) checkFunction(`createEgress.hooks.${name}.${hook}`, value)
  }
  checkWhole(
    'createEgress.deadline',
    parseDuration(options.deadline ?? '500ms', 'createEgress.deadline'),
    1,
    'milliseconds',
  )
  if (options.replicas !== undefined) checkWhole('createEgress.replicas', options.replicas, 1, 'replicas')
  if (options.dispatcher !== undefined) checkDispatcher(options.dispatcher)
  if (options.dispatcher !== undefined && options.connect !== undefined)
    throw invalidOption('createEgress.connect', options.connect, 'give it to the dispatcher instead')
}

/** Requests that share a connection at the same time delay each other after the grant, where egress cannot see it. */
function checkDispatcher(dispatcher: Dispatcher): void {
  if (typeof dispatcher?.dispatch !== 'function')
    throw invalidOption('createEgress.dispatcher', dispatcher, 'pass a dispatcher of undici, such as new Agent()')
  const settings = Object.getOwnPropertySymbols(dispatcher)
    .filter(({ description }) => description === 'options')
    .map((symbol) => (dispatcher as unknown as Record<symbol, Record<string, unknown> | undefined>)[symbol])
  const pipelining = (dispatcher as { pipelining?: unknown }).pipelining ?? settings.find(Boolean)?.pipelining
  if (typeof pipelining === 'number' && pipelining > 1)
    throw invalidOption('createEgress.dispatcher', `pipelining ${pipelining}`, 'use a dispatcher with pipelining 1')
  if (settings.some((each) => each?.allowH2 === true))
    throw invalidOption('createEgress.dispatcher', 'allowH2', 'use a dispatcher for HTTP/1.1')
}

/** Refuses hooks that no upstream of the policy can use. */
export function checkHooks(
  hooks: Readonly<Record<string, UpstreamHooks>>,
  upstreams: readonly CompiledUpstream[],
): void {
  checkOptionNames(
    'createEgress.hooks',
    hooks,
    upstreams.map(({ name }) => name),
  )
}
