import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CanActivate, ExecutionContext } from '@nestjs/common'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type HttpGuard, httpGuard } from '../guard.ts'
import type { ChargeOptions, GuardOptions } from '../guard-options.ts'
import type { Header } from '../headers/header.ts'
import { LazyView, type RequestParts } from '../lazy-view.ts'
import { goneSignal, onResponseEnd } from '../node/node-response.ts'
import { problemType } from '../problem.ts'
import { pathOf } from '../request-target.ts'
import { metadataKey } from './decorators.ts'
import { RateLimitException } from './rate-limit-exception.ts'

export type NestOptions = GuardOptions<ExecutionContext, ExecutionContext>

/** A request of Express or of Fastify, which keeps Node's own in `raw`. */
interface PlatformRequest extends IncomingMessage {
  readonly raw?: IncomingMessage
  readonly originalUrl?: string
  readonly query?: Record<string, unknown>
  readonly params?: Record<string, unknown>
  readonly body?: unknown
  readonly route?: { readonly path?: unknown }
  readonly routeOptions?: { readonly url?: string }
  sluice?: Decision | undefined
}

interface PlatformResponse extends ServerResponse {
  readonly raw?: ServerResponse
  header(name: string, value: string): unknown
  status(code: number): unknown
  send(body: unknown): unknown
  /** Only Express has it. */
  json?: (body: unknown) => unknown
}

const metadata = Reflect as unknown as { getMetadata(key: string, target: object): unknown }

/** The guard that decides on each request. `RateLimitModule` installs it for the whole app. */
export class RateLimitGuard implements CanActivate {
  readonly #limiter: Limiter
  readonly #options: NestOptions
  readonly #guard: HttpGuard<ExecutionContext>
  readonly #parts: RequestParts<PlatformRequest>
  readonly #own = new WeakMap<object, HttpGuard<ExecutionContext>>()

  constructor(limiter: Limiter, options: NestOptions = {}) {
    this.#limiter = limiter
    this.#options = options
    const guard = this.#guardFor({})
    this.#guard = guard
    this.#parts = {
      headers: (req) => req.headers,
      ip: (req, view) => guard.clientOf((req.raw ?? req).socket.remoteAddress, view),
      query: (req) => req.query,
      params: (req) => req.params,
      body: (req) => req.body ?? undefined,
      route: (req) => (typeof req.route?.path === 'string' ? req.route.path : req.routeOptions?.url),
    }
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true
    const guard = this.#guardOf(context)
    if (guard === undefined) return true
    const req = context.switchToHttp().getRequest<PlatformRequest>()
    const res = context.switchToHttp().getResponse<PlatformResponse>()
    const raw = res.raw ?? res
    const view = new LazyView(req.method ?? '', pathOf(req.originalUrl ?? req.url ?? ''), req, this.#parts)
    const { decision, headers, denial, finish } = await guard.decide(view, context, () => goneSignal(raw))
    req.sluice = decision
    if (denial === undefined) {
      setHeaders(res, headers)
      if (finish !== undefined) onResponseEnd(raw, finish)
      return true
    }
    const { onDenied } = this.#options
    if (onDenied !== undefined) {
      const answer = await onDenied(denial, context)
      if (answer !== undefined) {
        setHeaders(res, answer.headers)
        res.status(answer.status)
        res.send(answer.body)
      }
      throw new RateLimitException(denial)
    }
    const exception = new RateLimitException(denial)
    setHeaders(res, denial.headers)
    keepProblemType(res, exception.getResponse())
    throw exception
  }

  #guardOf(context: ExecutionContext): HttpGuard<ExecutionContext> | undefined {
    const own =
      metadata.getMetadata(metadataKey, context.getHandler()) ?? metadata.getMetadata(metadataKey, context.getClass())
    if (own === undefined) return this.#guard
    if (own === false) return undefined
    const charge = own as ChargeOptions<ExecutionContext>
    let guard = this.#own.get(charge)
    if (guard === undefined) {
      guard = this.#guardFor(charge)
      this.#own.set(charge, guard)
    }
    return guard
  }

  #guardFor(charge: ChargeOptions<ExecutionContext>): HttpGuard<ExecutionContext> {
    return httpGuard(this.#limiter, { ...this.#options, ...charge }, 'leave the body parser of the platform on')
  }
}

/**
 * Before version 12, Nest's own exception filter sends every object as `application/json`. Where it is this object that is sent, and not
 * what a filter of the app made of it, it goes out as the problem it is.
 */
function keepProblemType(response: PlatformResponse, problem: unknown): void {
  const name = response.json === undefined ? 'send' : 'json'
  const send = response[name]!
  response[name] = function sendProblem(this: PlatformResponse, body: unknown) {
    if (body === problem) this.header('Content-Type', problemType)
    return send.call(this, body)
  }
}

function setHeaders(response: PlatformResponse, headers: readonly Header[]): void {
  for (const [name, value] of headers) response.header(name, value)
}
