import type { ServerResponse } from 'node:http'
import type { Outcome } from '../guard.ts'
import type { GuardOptions } from '../guard-options.ts'
import { onResponseEnd, setHeaders, writeDenial } from './node-response.ts'

/** Writes what was decided to a Node response. False when the request has been answered by that. */
export function applyOutcome<Request, Exchange>(
  outcome: Outcome,
  response: ServerResponse,
  onDenied: GuardOptions<Request, Exchange>['onDenied'],
  exchange: () => Exchange,
): boolean | Promise<boolean> {
  const { denial, finish } = outcome
  if (denial === undefined) {
    setHeaders(response, outcome.headers)
    if (finish !== undefined) onResponseEnd(response, finish)
    return true
  }
  if (onDenied === undefined) {
    writeDenial(response, denial)
    return false
  }
  return Promise.resolve(onDenied(denial, exchange())).then((answer) => {
    if (answer !== undefined) writeDenial(response, answer)
    return false
  })
}
