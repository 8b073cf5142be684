import type { Context, DefaultContext, Middleware } from 'koa'
import type { Guard } from '../../admission/guard.ts'
import type { Denial } from '../../admission/outcome.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type AdapterOptions, adapterOptionNames, viewOptions } from '../adapter-options.ts'
import { type GuardOptions, splitOptions } from '../guard-options.ts'
import { limiterGuard } from '../limiter-guard.ts'
import { goneSignal, onResponseEnd, setHeaders } from '../node/node-response.ts'
import { pathOf } from '../request-target.ts'
import { type RequestReader, requestViews } from '../request-views.ts'

export type { Denial, ResponseEnd } from '../../admission/outcome.ts'
export type { ChargeOptions, GuardOptions } from '../guard-options.ts'

/** What the limiter leaves in `ctx.state`. */
export interface SluiceState {
  /** The decision on this request; undefined when it was let through without one. */
  sluice?: Decision | undefined
}

export type KoaOptions = GuardOptions<Context, Context>

const names = adapterOptionNames()

/**
 * Middleware that enforces a policy.
 *
 * @example
 * app.use(bodyParser())
 * app.use(rateLimit(limiter))
 */
export function rateLimit(limiter: Limiter, options: KoaOptions = {}): Middleware<SluiceState, DefaultContext> {
  const { forGuard, forAdapter } = splitOptions(options, names)
  const hint = 'put the parser, such as @koa/bodyparser, before rateLimit()'
  return protect(limiterGuard(limiter, forGuard, hint), forAdapter)
}

/**
 * Middleware that asks a guard, such as one that sheds load.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function protect<Decided extends Decision | undefined>(
  guard: Guard<Context, Decided>,
  options: AdapterOptions<Context, Context, never, Decided> = {},
): Middleware<SluiceState, DefaultContext> {
  const viewOf = requestViews(reader, viewOptions(options, names))
  const { onDenied } = options
  return async function sluice(context, next) {
    const ctx = context as unknown as Context
    const view = viewOf(ctx.method, pathOf(ctx.originalUrl), ctx)
    const { decision, headers, denial, finish } = await guard.decide(view, ctx, () => goneSignal(ctx.res))
    context.state.sluice = decision
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, ctx)
      if (answer) deny(ctx, answer)
      return
    }
    setHeaders(ctx.res, headers)
    if (finish !== undefined) onResponseEnd(ctx.res, finish)
    try {
      await next()
    } catch (error) {
      // Koa drops all headers when a handler throws, and sends those of the error.
      if (error instanceof Error)
        Object.assign(error, { headers: { ...Object.fromEntries(headers), ...headersOf(error) } })
      throw error
    }
  }
}

const headersOf = (error: Error): object => (error as { headers?: object }).headers ?? {}

const reader: RequestReader<Context, Context> = {
  peer: (ctx) => ctx.req.socket.remoteAddress,
  headers: (ctx) => ctx.req.headers,
  query: (ctx) => ctx.query,
  // Both are left there by @koa/router.
  params: (ctx) => ctx.params as Record<string, unknown> | undefined,
  route: (ctx) => (typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : undefined),
  body: (ctx) => (ctx.request as { body?: unknown }).body,
  request: (ctx) => ctx,
}

function deny(ctx: Context, { status, headers, body }: Denial<unknown>): void {
  ctx.status = status
  for (const [name, value] of headers) ctx.set(name, value)
  ctx.body = body
}
