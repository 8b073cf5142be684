import type { Context, DefaultContext, Middleware } from 'koa'
import type { Guard } from '../../admission/guard.ts'
import type { Denial } from '../../admission/outcome.ts'
import { checkFunction, optionNames } from '../../core/check-options.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { unreadableBody } from '../../policy/request-view.ts'
import { type GuardOptions, splitOptions } from '../guard/guard-options.ts'
import { closing, limiterGuard } from '../guard/limiter-guard.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { goneSignal, onResponseEnd, setHeaders } from '../node/node-response.ts'
import { parseBeforeFunctions, parsedBody } from '../node/parsed-body.ts'
import { type AdapterOptions, adapterOptionNames, isDenial, viewOptions } from '../request/adapter-options.ts'
import { pathOf } from '../request/request-target.ts'
import { type RequestReader, requestViews } from '../request/request-views.ts'

/** What the limiter leaves in `ctx.state`. */
export interface SluiceState {
  /** The decision on this request; undefined when it was let through without one. */
  sluice?: Decision | undefined
}

interface BodyOptions {
  /**
   * The parser to run first while a rule reads bodies, or `key`, `cost` or `skip` is a function. A body that it refuses
   * is counted too; a parser that stands before the limiter would answer by itself.
   *
   * @example app.use(rateLimit(limiter, { parseBody: bodyParser() })).use(bodyParser())
   */
  readonly parseBody?: Middleware
}

export interface KoaOptions extends GuardOptions<Context, Context>, BodyOptions {}

/** What `protect` understands. */
interface KoaProtectOptions<Decided> extends AdapterOptions<Context, Context, never, Decided>, BodyOptions {}

const names = adapterOptionNames(optionNames<BodyOptions>({ parseBody: true }))

const call = 'rateLimit(...)'

/**
 * Middleware that enforces a policy. What it opens, given options instead of a limiter, is closed by its `close`.
 *
 * @example
 * app.use(rateLimit({ limits: { rpm: 100 } }))
 * @example
 * app.use(rateLimit(limiter, { parseBody: bodyParser() }))
 * app.use(bodyParser())
 */
export function rateLimit(
  limiter: GivenLimiter,
  options: KoaOptions = {},
): Middleware<SluiceState, DefaultContext> & { close(): Promise<void> } {
  const { forGuard, forAdapter } = splitOptions(options, names, call)
  const bodyHint = 'give rateLimit() the parser: { parseBody: bodyParser() }'
  const guard = limiterGuard(limiter, forGuard, { call, bodyHint })
  return closing(protect(parseBeforeFunctions(guard, options), forAdapter), guard)
}

/**
 * Middleware that asks a guard, such as one that sheds load.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function protect<Decided extends Decision | undefined>(
  guard: Guard<Context, Decided>,
  options: KoaProtectOptions<Decided> = {},
): Middleware<SluiceState, DefaultContext> {
  const viewOf = requestViews(reader, viewOptions(options, names))
  const { onDenied, parseBody } = options
  checkFunction('parseBody', parseBody)
  return async function sluice(context, next) {
    const ctx = context as unknown as Context
    const isToParse = parseBody !== undefined && guard.readsBody && bodyOf(ctx) === undefined
    const refused = isToParse ? await errorOf(parseBody, ctx) : undefined
    const view = viewOf(ctx.method, pathOf(ctx.originalUrl), ctx)
    const { decision, headers, denial, finish } = await guard.decide(view, ctx, () => goneSignal(ctx.res))
    context.state.sluice = decision
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, ctx)
      if (isDenial(answer)) deny(ctx, answer)
      else if (!isAnswered(ctx)) deny(ctx, denial)
      return
    }
    setHeaders(ctx.res, headers)
    if (finish !== undefined) onResponseEnd(ctx.res, finish)
    try {
      if (refused !== undefined) throw refused.error
      await next()
    } catch (error) {
      // Koa drops all headers when a handler throws, and sends those of the error.
      if (error instanceof Error)
        Object.assign(error, { headers: { ...Object.fromEntries(headers), ...headersOf(error) } })
      throw error
    }
  }
}

/** Requests whose body was refused by the parser. */
const unparsed = new WeakSet<Context>()

/** Runs a parser, and returns its failure, if any. */
async function errorOf(parseBody: Middleware, ctx: Context): Promise<{ error: unknown } | undefined> {
  try {
    await parseBody(ctx as never, async () => {})
    return undefined
  } catch (error) {
    unparsed.add(ctx)
    return { error }
  }
}

const bodyOf = (ctx: Context): unknown => (ctx.request as { body?: unknown }).body
const headersOf = (error: Error): object => (error as { headers?: object }).headers ?? {}

const reader: RequestReader<Context, Context> = {
  peer: (ctx) => ctx.req.socket.remoteAddress,
  headers: (ctx) => ctx.req.headers,
  query: (ctx) => ctx.query,
  // Both are left there by @koa/router.
  params: (ctx) => ctx.params as Record<string, unknown> | undefined,
  route: (ctx) => (typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : undefined),
  body: (ctx) => (unparsed.has(ctx) ? unreadableBody : parsedBody(ctx.req, bodyOf(ctx))),
  request: (ctx) => ctx,
}

/** Whether something has answered: Koa sends 404 when nothing did. */
function isAnswered(ctx: Context): boolean {
  return ctx.headerSent || ctx.respond === false || ctx.status !== 404 || ctx.body != null
}

function deny(ctx: Context, { status, headers, body }: Denial<unknown>): void {
  ctx.status = status
  for (const [name, value] of headers) ctx.set(name, value)
  ctx.body = body
}
