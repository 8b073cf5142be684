import type { ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { Guard } from '../../admission/guard.ts'
import { optionNames } from '../../core/check-options.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { unreadableBody } from '../../policy/request-view.ts'
import {
  denialResponse,
  type FetchSource,
  fetchReader,
  isResponse,
  type NodeIncoming,
  onGone,
  targetOf,
  withEnd,
  withHeaders,
} from '../fetch/fetch-view.ts'
import { bodyHint, isShortJson, parseJson, readBody } from '../fetch/read-body.ts'
import { type GuardOptions, splitOptions } from '../guard/guard-options.ts'
import { closing, limiterGuard } from '../guard/limiter-guard.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { goneSignal, onResponseEnd, setHeaders } from '../node/node-response.ts'
import { type AdapterOptions, adapterOptionNames, isDenial, viewOptions } from '../request/adapter-options.ts'
import { type RequestReader, requestViews } from '../request/request-views.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision on this request; undefined when it was let through without one. */
    sluice: Decision | undefined
  }
}

interface PeerOptions {
  /** The address of the connected peer, such as `(c) => getConnInfo(c).remote.address`. Known by itself on Node. */
  readonly remoteAddress?: (c: Context) => string | undefined
}

export interface HonoOptions extends GuardOptions<Context, Context, Response>, PeerOptions {}

/** What `protect` understands. */
interface HonoProtectOptions<Decided> extends AdapterOptions<Context, Context, Response, Decided>, PeerOptions {}

const names = adapterOptionNames(optionNames<PeerOptions>({ remoteAddress: true }))

/** What @hono/node-server puts into `c.env`. */
interface NodeBindings {
  readonly incoming?: NodeIncoming
  readonly outgoing?: ServerResponse
}

interface HonoSource extends FetchSource {
  readonly c: Context
}

const onNode = (c: Context): string | undefined => (c.env as NodeBindings | undefined)?.incoming?.socket?.remoteAddress

const call = 'rateLimit(...)'

/**
 * Middleware that enforces a policy. What it opens, given options instead of a limiter, is closed by its `close`.
 *
 * @example
 * app.use(rateLimit({ limits: { rpm: 100 } }))
 * @example
 * app.use(rateLimit(limiter))
 * app.get('/', (c) => c.text(`${c.get('sluice')?.limits[0]?.remaining} left`))
 */
export function rateLimit(
  limiter: GivenLimiter,
  options: HonoOptions = {},
): MiddlewareHandler & { close(): Promise<void> } {
  const { forGuard, forAdapter } = splitOptions(options, names, call)
  const guard = limiterGuard(limiter, forGuard, { call, bodyHint })
  return closing(protect(guard, forAdapter), guard)
}

/**
 * Middleware that asks a guard, such as one that sheds load.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function protect<Decided extends Decision | undefined>(
  guard: Guard<Context, Decided>,
  options: HonoProtectOptions<Decided> = {},
): MiddlewareHandler {
  const viewOf = requestViews(reader, viewOptions(options, names))
  const { onDenied, remoteAddress = onNode } = options
  return async function sluice(c, next) {
    const { incoming, outgoing } = (c.env ?? {}) as NodeBindings
    const body = guard.readsBody ? await readBodyOf(c) : undefined
    const source = { c, request: c.req.raw, incoming, remoteAddress: remoteAddress(c), body }
    const gone = () => (outgoing ? goneSignal(outgoing) : c.req.raw.signal)
    const view = viewOf(c.req.method, targetOf(source), source)
    const { decision, headers, denial, finish } = await guard.decide(view, c, gone)
    c.set('sluice', decision)
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, c)
      if (isResponse(answer)) return answer
      return denialResponse(isDenial(answer) ? answer : denial, c.req.method)
    }
    // On Node the response to come can be prepared directly, which costs much less than a copy of its headers.
    if (outgoing) {
      setHeaders(outgoing, headers)
      if (finish !== undefined) onResponseEnd(outgoing, finish)
      return next()
    }
    if (finish !== undefined) onGone(c.req.raw.signal, finish)
    await next()
    const response = withHeaders(c.res, headers)
    if (response !== c.res || finish !== undefined) {
      const ended = finish === undefined ? response : withEnd(response, finish)
      // Hono merges an old response into a new one; this one has it all already.
      c.res = undefined
      c.res = ended
    }
    return undefined
  }
}

const reader: RequestReader<HonoSource, Context> = {
  ...fetchReader<HonoSource, Context>(({ c }) => c),
  query: ({ c }) => c.req.queries(),
  params: ({ c }) => c.req.param(),
  route: ({ c }) => routeOf(c),
}

/**
 * The pattern of the handler: middleware comes before it, so it is the last that matched; alone, nothing but middleware
 * did.
 */
function routeOf(c: Context): string | undefined {
  const last = c.req.matchedRoutes.at(-1)
  return last === undefined || last.path.endsWith('*') ? undefined : last.path
}

/** Hono keeps text that was read for handlers to read again; of all else a copy is read. */
function readBodyOf({ req }: Context): Promise<unknown> {
  if (!req.raw.bodyUsed && !isShortJson(req.raw.headers)) return readBody(req.raw)
  return req.text().then(parseJson, () => unreadableBody)
}
