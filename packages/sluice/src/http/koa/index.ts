import type { Context, DefaultContext, Middleware } from 'koa'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { httpGuard } from '../guard.ts'
import type { Denial, GuardOptions } from '../guard-options.ts'
import { LazyView, type RequestParts } from '../lazy-view.ts'
import { goneSignal, onResponseEnd, setHeaders } from '../node/node-response.ts'
import { pathOf } from '../request-target.ts'

export type { ChargeOptions, Denial, GuardOptions, ResponseEnd } from '../guard-options.ts'

/** What the limiter leaves in `ctx.state`. */
export interface SluiceState {
  /** The decision on this request; undefined when it was let through without one. */
  sluice?: Decision | undefined
}

export type KoaOptions = GuardOptions<Context, Context>

/**
 * Middleware that enforces a policy.
 *
 * @example
 * app.use(bodyParser())
 * app.use(rateLimit(limiter))
 */
export function rateLimit(limiter: Limiter, options: KoaOptions = {}): Middleware<SluiceState, DefaultContext> {
  const guard = httpGuard(limiter, options, 'put the parser, such as @koa/bodyparser, before rateLimit()')
  const { onDenied } = options
  const parts: RequestParts<Context> = {
    headers: (ctx) => ctx.req.headers,
    ip: (ctx, view) => guard.clientOf(ctx.req.socket.remoteAddress, view),
    query: (ctx) => ctx.query,
    // Both are left there by @koa/router.
    params: (ctx) => ctx.params as Record<string, unknown> | undefined,
    route: (ctx) => (typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : undefined),
    body: (ctx) => (ctx.request as { body?: unknown }).body,
  }
  return async function sluice(context, next) {
    const ctx = context as unknown as Context
    const view = new LazyView(ctx.method, pathOf(ctx.originalUrl), ctx, parts)
    const { decision, headers, denial, finish } = await guard.decide(view, ctx, () => goneSignal(ctx.res))
    context.state.sluice = decision
    if (denial !== undefined) {
      const answer = onDenied === undefined ? denial : await onDenied(denial, ctx)
      if (answer !== undefined) deny(ctx, answer)
      return
    }
    setHeaders(ctx.res, headers)
    if (finish !== undefined) onResponseEnd(ctx.res, finish)
    await next()
  }
}

function deny(ctx: Context, { status, headers, body }: Denial): void {
  ctx.status = status
  for (const [name, value] of headers) ctx.set(name, value)
  ctx.body = body
}
