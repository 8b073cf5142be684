import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { invalidOption } from '../../core/errors.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type HttpGuard, httpGuard, type Outcome } from '../guard.ts'
import type { ChargeOptions, Denial, GuardOptions } from '../guard-options.ts'
import type { Header } from '../headers/header.ts'
import { LazyView, type RequestParts } from '../lazy-view.ts'
import { goneSignal, onResponseEnd } from '../node/node-response.ts'
import { pathOf } from '../request-target.ts'

export type { ChargeOptions, Denial, GuardOptions, ResponseEnd } from '../guard-options.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision on this request; undefined when it was let through without one. */
    sluice: Decision | undefined
  }
  interface FastifyContextConfig {
    /** How this route is charged instead, or false to leave it alone. */
    rateLimit?: ChargeOptions<FastifyRequest> | false
  }
}

export interface FastifyOptions
  extends GuardOptions<FastifyRequest, { readonly request: FastifyRequest; readonly reply: FastifyReply }> {
  readonly limiter: Limiter
  /**
   * When to decide: `onRequest`, before the body is read, or `preHandler`, once it is parsed. By default the latter if a rule of the policy
   * reads the body.
   */
  readonly hook?: 'onRequest' | 'preHandler'
}

/**
 * Plugin that enforces a policy on all routes of the instance it is registered on. Routes may say otherwise in their `config`.
 *
 * @example
 * await app.register(rateLimit, { limiter })
 * app.post('/reports', { config: { rateLimit: { rule: 'reports', key: (request) => request.user.id, cost: 5 } } }, handler)
 */
export const rateLimit: FastifyPluginCallback<FastifyOptions> = Object.assign(plugin, {
  // Lets the hooks reach the routes of the instance that registers the plugin, and not only the plugin's own.
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
})

function plugin(app: FastifyInstance, options: FastifyOptions, done: (error?: Error) => void): void {
  const { limiter, onDenied, hook = limiter.policy.readsBody ? 'preHandler' : 'onRequest' } = options
  if (hook !== 'onRequest' && hook !== 'preHandler') {
    done(invalidOption('hook', hook, 'use "onRequest" or "preHandler"'))
    return
  }
  const hint = 'register the plugin with hook: "preHandler", and a parser for the content type'
  const guardFor = (charge?: ChargeOptions<FastifyRequest>) => httpGuard(limiter, { ...options, ...charge }, hint)
  const guard = guardFor()
  const ofRoutes = new WeakMap<ChargeOptions<FastifyRequest>, HttpGuard<FastifyRequest>>()
  let haveRoutesTheirOwn = false

  const parts: RequestParts<FastifyRequest> = {
    headers: (request) => request.raw.headers,
    ip: (request, view) => guard.clientOf(request.raw.socket.remoteAddress, view),
    query: (request) => request.query as Record<string, unknown>,
    params: (request) => request.params as Record<string, unknown>,
    body: (request) => request.body ?? undefined,
    route: (request) => request.routeOptions.url,
  }

  function guardOf(request: FastifyRequest): HttpGuard<FastifyRequest> | undefined {
    if (!haveRoutesTheirOwn) return guard
    const own = request.routeOptions.config.rateLimit
    return own === undefined ? guard : own === false ? undefined : ofRoutes.get(own)
  }

  function apply(outcome: Outcome, request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void {
    const { denial, headers, finish } = outcome
    request.sluice = outcome.decision
    if (denial === undefined) {
      setHeaders(reply, headers)
      if (finish !== undefined) onResponseEnd(reply.raw, finish)
      next()
    } else if (onDenied === undefined) deny(reply, denial)
    else {
      Promise.resolve({ request, reply })
        .then((exchange) => onDenied(denial, exchange))
        .then((answer) => {
          if (answer !== undefined) deny(reply, answer)
        })
        .catch(next)
    }
  }

  if (!app.hasRequestDecorator('sluice')) app.decorateRequest('sluice', undefined)
  app.addHook('onRoute', function noteRoute({ config }) {
    if (config?.rateLimit === undefined) return
    haveRoutesTheirOwn = true
    if (config.rateLimit !== false) ofRoutes.set(config.rateLimit, guardFor(config.rateLimit))
  })
  app.addHook(hook, function sluice(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) {
    const chosen = guardOf(request)
    if (chosen === undefined) {
      next()
      return
    }
    const view = new LazyView(request.raw.method ?? '', pathOf(request.raw.url ?? ''), request, parts)
    chosen
      .decide(view, request, () => goneSignal(reply.raw))
      .then((outcome) => apply(outcome, request, reply, next), next)
  })
  done()
}

function deny(reply: FastifyReply, { status, headers, body }: Denial): void {
  reply.code(status)
  setHeaders(reply, headers)
  reply.send(body)
}

/** Fastify keeps names in lower case, and making that of a name costs more than all else about it; these come with every reply. */
const lowerCase: ReadonlyMap<string, string> = new Map([
  ['RateLimit-Policy', 'ratelimit-policy'],
  ['RateLimit', 'ratelimit'],
  ['Retry-After', 'retry-after'],
  ['Content-Type', 'content-type'],
])

function setHeaders(reply: FastifyReply, headers: readonly Header[]): void {
  for (let i = 0; i < headers.length; i++) {
    const name = headers[i]![0]
    reply.header(lowerCase.get(name) ?? name, headers[i]![1])
  }
}
