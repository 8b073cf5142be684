import type { IncomingMessage } from 'node:http'
import type { Limiter } from 'sluice'
import { clientAddress, limiterGuard, pathOf, type ResponseEnd } from 'sluice/http'

/** Ends what a batch holds of the limits, by the status that it was answered with. */
type Finish = (status: number) => void

/** Asks the rules of the policy about a batch. Refused with a response; `finish` is called once a batch is answered. */
export type BatchGuard = (
  incoming: IncomingMessage,
  body: unknown,
) => Promise<{ readonly refused?: Response; readonly finish: Finish }>

/**
 * Rules see the request, its body, and as `context.events` how many events a batch really has, whatever its sender says
 * about it.
 */
export function batchGuard(limiter: Limiter): BatchGuard {
  const guard = limiterGuard<IncomingMessage>(limiter, { inFlight: true })
  const addressOf = clientAddress()
  return async (incoming, body) => {
    const { method = 'POST', url = '/', headers, socket } = incoming
    const { events } = (body ?? {}) as { events?: unknown }
    const ip = addressOf(socket.remoteAddress, { headers })
    const context = { events: Array.isArray(events) ? events.length : 1 }
    const { denial, finish } = await guard.decide({ method, path: pathOf(url), headers, body, ip, context }, incoming)
    if (denial !== undefined) {
      // 400 would say that the events are at fault. A sender that does not say who it is keeps them.
      const status = denial.status === 400 ? 403 : denial.status
      const answer = JSON.stringify({ ...denial.problem, status })
      return {
        refused: new Response(answer, { status, headers: denial.headers.map(([n, v]) => [n, v]) }),
        finish: noop,
      }
    }
    const end = (status: number): ResponseEnd => ({ status, bytes: 0, completed: true })
    return { finish: finish === undefined ? noop : (status) => finish(end(status)) }
  }
}

const noop = (): void => undefined
