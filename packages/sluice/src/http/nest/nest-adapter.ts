import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ExecutionContext, HttpException } from '@nestjs/common'
import type { Guard } from '../../admission/guard.ts'
import { type Denial, type GuardOutcome, type Header, problemType } from '../../admission/outcome.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { RequestView } from '../../policy/request-view.ts'
import { goneSignal, onResponseEnd, watchAnswer } from '../node/node-response.ts'
import { parsedBody } from '../node/parsed-body.ts'
import { type AdapterOptions, adapterOptionNames, isDenial, viewOptions } from '../request/adapter-options.ts'
import { pathOf, queryIn } from '../request/request-target.ts'
import { type RequestReader, requestViews } from '../request/request-views.ts'

/** What the guard throws for a denied request, so that exception filters see it. Its headers are already set. */
export class RateLimitException<Decided = Decision> extends HttpException {
  readonly decision: Decided
  readonly denial: Denial<Decided>

  constructor(denial: Denial<Decided>) {
    super({ ...denial.problem }, denial.status)
    this.decision = denial.decision
    this.denial = denial
  }
}

export const nestOptionNames: readonly string[] = adapterOptionNames()

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

/** Turns requests of Nest into views and writes outcomes, on Express and on Fastify. */
export class NestAdapter<Decided extends Decision | undefined> {
  readonly #onDenied: AdapterOptions<ExecutionContext, ExecutionContext, never, Decided>['onDenied']
  readonly #asked = new WeakSet<PlatformRequest>()
  readonly #viewOf: (method: string, path: string, context: ExecutionContext) => RequestView

  constructor(options: AdapterOptions<ExecutionContext, ExecutionContext, never, Decided>) {
    this.#onDenied = options.onDenied
    this.#viewOf = requestViews(reader, viewOptions(options, nestOptionNames))
  }

  /** Whether a guard has been asked about a request. */
  hasAsked(context: ExecutionContext): boolean {
    return this.#asked.has(requestOf(context))
  }

  /** True when the request may pass; throws a `RateLimitException` when not. */
  async ask(guard: Guard<ExecutionContext, Decided>, context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true
    return this.#apply(await this.decide(guard, context), context, responseOf(context))
  }

  /** Asks a guard without writing anything. */
  async decide(guard: Guard<ExecutionContext, Decided>, context: ExecutionContext): Promise<GuardOutcome<Decided>> {
    const req = requestOf(context)
    const res = responseOf(context)
    this.#asked.add(req)
    const view = this.#viewOf(req.method ?? '', pathOf(req.originalUrl ?? req.url ?? ''), context)
    const outcome = await guard.decide(view, context, () => goneSignal(res.raw ?? res))
    req.sluice = outcome.decision
    return outcome
  }

  async #apply(
    { headers, denial, finish }: GuardOutcome<Decided>,
    context: ExecutionContext,
    res: PlatformResponse,
  ): Promise<true> {
    if (denial === undefined) {
      setHeaders(res, headers)
      if (finish !== undefined) onResponseEnd(res.raw ?? res, finish)
      return true
    }
    const exception = new RateLimitException(denial)
    if (this.#onDenied !== undefined) {
      const isAnswered = watchAnswer(res.raw ?? res, res)
      const answer = await this.#onDenied(denial, context)
      if (isDenial(answer)) {
        setHeaders(res, answer.headers)
        res.status(answer.status)
        res.send(answer.body)
      }
      if (isAnswered()) throw exception
    }
    setHeaders(res, denial.headers)
    keepProblemType(res, exception.getResponse())
    throw exception
  }
}

const requestOf = (context: ExecutionContext): PlatformRequest => context.switchToHttp().getRequest<PlatformRequest>()
const rawOf = (context: ExecutionContext): IncomingMessage => requestOf(context).raw ?? requestOf(context)
const responseOf = (context: ExecutionContext): PlatformResponse => context.switchToHttp().getResponse()

const reader: RequestReader<ExecutionContext, ExecutionContext> = {
  peer: (context) => rawOf(context).socket.remoteAddress,
  headers: (context) => requestOf(context).headers,
  query: (context) => queryOf(requestOf(context)),
  params: (context) => requestOf(context).params,
  body: (context) => parsedBody(rawOf(context), requestOf(context).body ?? undefined),
  route: (context) => routeOf(requestOf(context)),
  request: (context) => context,
}

/** Express ends the query at a fragment, Fastify does not. */
function queryOf({ raw, query }: PlatformRequest): RequestView['query'] {
  return raw === undefined || query === undefined ? query : queryIn(raw.url ?? '', query)
}

function routeOf({ route, routeOptions }: PlatformRequest): string | undefined {
  return typeof route?.path === 'string' ? route.path : routeOptions?.url
}

/**
 * Before version 12, Nest's own exception filter sends every object as `application/json`. Where it is this object that
 * is sent, and not what a filter of the app made of it, it goes out as the problem it is.
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
