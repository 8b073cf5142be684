import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Denial, GuardOutcome, Header } from '../../admission/outcome.ts'
import { onResponseEnd, watchAnswer } from '../node/node-response.ts'
import { isDenial, type OnDenied } from '../request/adapter-options.ts'

/** Writes an outcome to a reply; then the request goes on with `next`, or has been answered. */
export function applyToReply<Decided>(
  { denial, headers, finish }: GuardOutcome<Decided>,
  request: FastifyRequest,
  reply: FastifyReply,
  onDenied: OnDenied<{ request: FastifyRequest; reply: FastifyReply }, never, Decided> | undefined,
  next: (error?: Error) => void,
): void {
  if (denial === undefined) {
    setHeaders(reply, headers)
    if (finish !== undefined) onResponseEnd(reply.raw, finish)
    next()
  } else if (onDenied === undefined) deny(reply, denial)
  else {
    const isAnswered = watchAnswer(reply.raw, reply as unknown as Parameters<typeof watchAnswer>[1])
    Promise.resolve({ request, reply })
      .then((exchange) => onDenied(denial, exchange))
      .then((answer) => {
        if (isDenial(answer)) deny(reply, answer)
        else if (!isAnswered() && !reply.sent) deny(reply, denial)
      })
      .catch(next)
  }
}

/** Writes an outcome to a reply that is about to be sent. Returns what to send: the same, or the denial. */
export function applyToPayload<Decided>(
  { denial, headers, finish }: GuardOutcome<Decided>,
  reply: FastifyReply,
  payload: unknown,
): unknown {
  setHeaders(reply, denial?.headers ?? headers)
  if (denial === undefined) {
    if (finish !== undefined) onResponseEnd(reply.raw, finish)
    return payload
  }
  // The original payload may be a stream, which is not read any more.
  if (typeof (payload as Partial<Readable> | undefined)?.destroy === 'function') (payload as Readable).destroy()
  reply.code(denial.status)
  return denial.body
}

function deny(reply: FastifyReply, { status, headers, body }: Denial<unknown>): void {
  reply.code(status)
  setHeaders(reply, headers)
  reply.send(body)
}

/**
 * Fastify keeps names in lower case, and making that of a name costs more than all else about it; these come with every
 * reply.
 */
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

/**
 * Decides on requests whose body cannot be parsed when their refusal is sent: no earlier hook of Fastify runs for them.
 */
export function decideOnRefusedBodies<Decided>(
  app: FastifyInstance,
  decide: (request: FastifyRequest, reply: FastifyReply) => Promise<GuardOutcome<Decided>>,
): void {
  const inParser = new WeakSet<FastifyRequest>()
  app.addHook('preParsing', function sluice(request, _reply, _payload, next) {
    inParser.add(request)
    next()
  })
  app.addHook('preValidation', function sluice(request, _reply, next) {
    inParser.delete(request)
    next()
  })
  app.addHook('onSend', function sluice(request, reply, payload, next) {
    if (!inParser.delete(request)) return next(null, payload)
    decide(request, reply).then((outcome) => next(null, applyToPayload(outcome, reply, payload)), next)
  })
}
