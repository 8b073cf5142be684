import type { ServerResponse } from 'node:http'
import type { Guard } from '../../admission/guard.ts'
import { optionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { type GuardOptions, splitOptions } from '../guard/guard-options.ts'
import { closing, limiterGuard } from '../guard/limiter-guard.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { onResponseEnd } from '../node/node-response.ts'
import { type AdapterOptions, adapterOptionNames, isDenial, viewOptions } from '../request/adapter-options.ts'
import { requestViews } from '../request/request-views.ts'
import {
  denialResponse,
  type FetchSource,
  fetchReader,
  isResponse,
  onGone,
  targetOf,
  withEnd,
  withHeaders,
} from './fetch-view.ts'
import { bodyHint, readBody } from './read-body.ts'

interface PeerOptions<Rest extends readonly unknown[]> {
  /** The address of the connected peer, which a `Request` does not contain. */
  readonly remoteAddress?: (request: Request, ...rest: Rest) => string | undefined
}

export interface FetchOptions<Rest extends readonly unknown[]>
  extends GuardOptions<Request, Request, Response>,
    PeerOptions<Rest> {}

/** What `protect` understands. */
interface FetchProtectOptions<Rest extends readonly unknown[], Decided>
  extends AdapterOptions<Request, Request, Response, Decided>,
    PeerOptions<Rest> {}

const names = adapterOptionNames(optionNames<PeerOptions<never>>({ remoteAddress: true }))

type FetchHandler<Rest extends readonly unknown[]> = (request: Request, ...rest: Rest) => Response | Promise<Response>
type ProtectedHandler<Rest extends readonly unknown[]> = (request: Request, ...rest: Rest) => Promise<Response>

const decisions = new WeakMap<Request, Decision>()

/** The decision on a request that was let through. */
export function decisionOf(request: Request): Decision | undefined {
  return decisions.get(request)
}

const call = 'rateLimit(..., handler)'

/**
 * Puts a limiter before any fetch-style handler. What it opens, given options instead of a limiter, is closed by its
 * `close`.
 *
 * @example
 * export default { fetch: rateLimit({ limits: { rpm: 100 } }, (request) => new Response('hello')) }
 */
export function rateLimit<Rest extends readonly unknown[]>(
  limiter: GivenLimiter,
  handler: FetchHandler<Rest>,
  options: FetchOptions<Rest> = {},
): ProtectedHandler<Rest> & { close(): Promise<void> } {
  const { forGuard, forAdapter } = splitOptions(options, names, call)
  const guard = limiterGuard(limiter, forGuard, { call, bodyHint })
  return closing(protect(guard, handler, forAdapter), guard)
}

/**
 * Puts a guard before any fetch-style handler.
 *
 * @example
 * export default { fetch: protect(shedding(capacity), (request) => new Response('hello')) }
 */
export function protect<Rest extends readonly unknown[], Decided extends Decision | undefined>(
  guard: Guard<Request, Decided>,
  handler: FetchHandler<Rest>,
  options: FetchProtectOptions<Rest, Decided> = {},
): ProtectedHandler<Rest> {
  if (typeof handler !== 'function') throw invalidOption('handler', handler, 'pass a function')
  const viewOf = requestViews(fetchReader(requestOf), viewOptions(options, names))
  const { onDenied, remoteAddress } = options
  return async function sluice(request, ...rest) {
    const body = guard.readsBody ? await readBody(request) : undefined
    const source = { request, incoming: undefined, remoteAddress: remoteAddress?.(request, ...rest), body }
    const view = viewOf(request.method, targetOf(source), source)
    const { decision, headers, denial, finish } = await guard.decide(view, request, () => request.signal)
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, request)
      if (isResponse(answer)) return answer
      return denialResponse(isDenial(answer) ? answer : denial, request.method)
    }
    if (decision !== undefined) decisions.set(request, decision)
    const outgoing = outgoingIn(rest[0])
    if (finish !== undefined) {
      if (outgoing === undefined) onGone(request.signal, finish)
      else onResponseEnd(outgoing, finish)
    }
    try {
      const response = withHeaders(await handler(request, ...rest), headers)
      return finish === undefined || outgoing !== undefined ? response : withEnd(response, finish)
    } catch (error) {
      finish?.({ status: 500, bytes: 0, completed: true })
      throw error
    }
  }
}

/** Node's own response, where `@hono/node-server` runs the handler: it knows best when it has ended. */
function outgoingIn(env: unknown): ServerResponse | undefined {
  const outgoing = (env as { outgoing?: ServerResponse } | undefined)?.outgoing
  return typeof outgoing?.once === 'function' ? outgoing : undefined
}

const requestOf = ({ request }: FetchSource): Request => request
