import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Guard } from '../../admission/guard.ts'
import type { GuardOutcome } from '../../admission/outcome.ts'
import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import { type ChargeOptions, chargeOptionNames, type GuardOptions, splitOptions } from '../guard/guard-options.ts'
import { limiterGuard } from '../guard/limiter-guard.ts'
import { type GivenLimiter, openLimiter } from '../guard/open-limiter.ts'
import { goneSignal } from '../node/node-response.ts'
import { parsedBody } from '../node/parsed-body.ts'
import { type AdapterOptions, adapterOptionNames, viewOptions } from '../request/adapter-options.ts'
import { pathOf, queryIn } from '../request/request-target.ts'
import { type RequestReader, requestViews } from '../request/request-views.ts'
import { applyToPayload, applyToReply } from './apply-to-reply.ts'

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

/** What handlers of Fastify get. */
interface FastifyExchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

const hooks = ['onRequest', 'preValidation', 'preHandler'] as const

interface HookOptions {
  /**
   * When to decide: `onRequest`, before the body is read; `preValidation`, once it is parsed; `preHandler`, once it is
   * validated too. By default `preValidation` while the guard reads bodies, and `onRequest` while it does not. What is
   * answered before, such as a body that cannot be parsed, is decided on when it is answered.
   */
  readonly hook?: (typeof hooks)[number]
}

/** What Fastify itself reads when a plugin is registered, and passes to the plugin. */
const ofFastify = ['prefix', 'logLevel', 'logSerializers']
const names = (own: string): readonly string[] => adapterOptionNames([own, 'hook', ...ofFastify])

export interface FastifyOptions extends GuardOptions<FastifyRequest, FastifyExchange>, HookOptions {
  /** A limiter, a promise of one, or options of `createLimiter`. What it opens is closed with the app. */
  readonly limiter: GivenLimiter
}

export interface FastifyProtectOptions<Decided extends Decision | undefined = Decision | undefined>
  extends AdapterOptions<FastifyRequest, FastifyExchange, never, Decided>,
    HookOptions {
  readonly guard: Guard<FastifyRequest, Decided>
}

/**
 * Plugin that enforces a policy on all routes of the instance it is registered on. Routes may say otherwise in their
 * `config`.
 *
 * @example
 * await app.register(rateLimit, { limiter: { limits: { rpm: 100 } } })
 * @example
 * await app.register(rateLimit, { limiter })
 * const charge = { rule: 'reports', key: (request) => request.user.id, cost: 5 }
 * app.post('/reports', { config: { rateLimit: charge } }, handler)
 */
export const rateLimit: FastifyPluginCallback<FastifyOptions> = onTheInstance('sluice', (app, options) => {
  const call = 'app.register(rateLimit, { limiter: ... })'
  const { forGuard, forAdapter } = splitOptions(options, names('limiter'), call)
  const { limiter, close } = openLimiter(options.limiter, call)
  app.addHook('onClose', close)
  const usage = { call, bodyHint: 'add a parser for the content type' }
  const guardFor = (charge: ChargeOptions<FastifyRequest> = {}) => {
    checkOptionNames('config.rateLimit', charge, chargeOptionNames)
    return limiterGuard(limiter, { ...forGuard, ...charge }, usage)
  }
  const guard = guardFor()
  const ofRoutes = new WeakMap<ChargeOptions<FastifyRequest>, Guard<FastifyRequest, Decision>>()
  const guardOfRoute = (charge: ChargeOptions<FastifyRequest>): Guard<FastifyRequest, Decision> => {
    const known = ofRoutes.get(charge) ?? guardFor(charge)
    ofRoutes.set(charge, known)
    return known
  }
  // Mistakes in a route's options show at start; routes that were there before the plugin are met with their first
  // request.
  app.addHook('onRoute', function noteRoute({ config }) {
    if (config?.rateLimit) guardOfRoute(config.rateLimit)
  })
  addGuard(app, forAdapter, names('limiter'), (request) => {
    const own = request.routeOptions.config.rateLimit
    return own === undefined ? guard : own === false ? undefined : guardOfRoute(own)
  })
})

/**
 * Plugin that asks a guard, such as one that sheds load, about all requests of the instance it is registered on.
 *
 * @example await app.register(protect, { guard: allOf(shedding(capacity), limiterGuard(limiter)) })
 */
export const protect: FastifyPluginCallback<FastifyProtectOptions> = onTheInstance('sluice-guard', (app, options) => {
  const { guard } = options
  addGuard(app, options, names('guard'), () => guard)
})

function addGuard<Decided extends Decision | undefined>(
  app: FastifyInstance,
  options: AdapterOptions<FastifyRequest, FastifyExchange, never, Decided> & HookOptions,
  known: readonly string[],
  guardOf: (request: FastifyRequest) => Guard<FastifyRequest, Decided> | undefined,
): void {
  const { onDenied, hook } = options
  if (hook !== undefined && !hooks.includes(hook))
    throw invalidOption('hook', hook, `use one of ${hooks.map((each) => `"${each}"`).join(', ')}`)
  const viewOf = requestViews(reader, viewOptions(options, known))
  if (!app.hasRequestDecorator('sluice')) app.decorateRequest('sluice', undefined)

  type FastifyGuard = Guard<FastifyRequest, Decided>
  async function ask(
    guard: FastifyGuard,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<GuardOutcome<Decided>> {
    const view = viewOf(request.raw.method ?? '', pathOf(request.raw.url ?? ''), request)
    const outcome = await guard.decide(view, request, () => goneSignal(reply.raw))
    request.sluice = outcome.decision
    return outcome
  }
  function decide(guard: FastifyGuard, request: FastifyRequest, reply: FastifyReply, next: Next): void {
    ask(guard, request, reply).then((outcome) => applyToReply(outcome, request, reply, onDenied, next), next)
  }

  // A live policy may begin to read bodies at any time, so it is asked anew for every request whether to wait for them.
  const waiting = new WeakMap<FastifyRequest, FastifyGuard>()
  app.addHook('onRequest', function sluice(request: FastifyRequest, reply: FastifyReply, next: Next) {
    const guard = guardOf(request)
    if (guard === undefined) next()
    else if (hook === 'onRequest' || (hook === undefined && !guard.readsBody)) decide(guard, request, reply, next)
    else {
      waiting.set(request, guard)
      next()
    }
  })
  if (hook === 'onRequest') return
  app.addHook(hook ?? 'preValidation', function sluice(request: FastifyRequest, reply: FastifyReply, next: Next) {
    const guard = waiting.get(request)
    waiting.delete(request)
    if (guard === undefined) next()
    else decide(guard, request, reply, next)
  })
  // A body that cannot be parsed is refused before any hook sees it, and must be counted all the same.
  app.addHook('onSend', function sluice(request: FastifyRequest, reply: FastifyReply, payload: unknown, next) {
    const guard = waiting.get(request)
    waiting.delete(request)
    if (guard === undefined) next(null, payload)
    else ask(guard, request, reply).then((outcome) => next(null, applyToPayload(outcome, reply, payload)), next)
  })
}

type Next = (error?: Error) => void

const reader: RequestReader<FastifyRequest, FastifyRequest> = {
  peer: (request) => request.raw.socket.remoteAddress,
  headers: (request) => request.raw.headers,
  query: ({ raw, query }) => queryIn(raw.url ?? '', query as Record<string, unknown>),
  params: (request) => request.params as Record<string, unknown>,
  body: (request) => parsedBody(request.raw, request.body ?? undefined),
  route: (request) => request.routeOptions.url,
  request: (request) => request,
}

/** A plugin whose hooks reach the routes of the instance that registers it, and not only its own. */
function onTheInstance<Options extends object>(
  name: string,
  add: (app: FastifyInstance, options: Options) => void,
): FastifyPluginCallback<Options> {
  return Object.assign(
    function plugin(app: FastifyInstance, options: Options, done: (error?: Error) => void): void {
      try {
        add(app, options)
        done()
      } catch (error) {
        done(error as Error)
      }
    },
    { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: name },
  )
}
