import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { GuardOutcome } from '../../admission/outcome.ts'
import { applyToPayload } from './apply-to-reply.ts'

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
