import type { ServerResponse } from 'node:http'
import type { Outcome } from '../guard.ts'
import type { Denial, GuardOptions } from '../guard-options.ts'
import { onResponseEnd, setHeaders, writeDenial } from './node-response.ts'

/** Writes what was decided to a Node response; then the request goes on with `pass`, or has been answered. */
export function applyOutcome<Request, Exchange>(
  outcome: Outcome,
  response: ServerResponse,
  onDenied: GuardOptions<Request, Exchange>['onDenied'],
  exchange: () => Exchange,
  pass: () => void,
  fail: (error: unknown) => void,
): void {
  const { denial, finish } = outcome
  try {
    if (denial === undefined) {
      setHeaders(response, outcome.headers)
      if (finish !== undefined) onResponseEnd(response, finish)
    } else if (onDenied === undefined) writeDenial(response, denial)
    else answerOwn(response, onDenied(denial, exchange()), fail)
  } catch (error) {
    fail(error)
    return
  }
  if (denial === undefined) pass()
}

function answerOwn(
  response: ServerResponse,
  own: Denial | undefined | Promise<Denial | undefined>,
  fail: (error: unknown) => void,
): void {
  Promise.resolve(own)
    .then((answer) => {
      if (answer !== undefined) writeDenial(response, answer)
    })
    .catch(fail)
}
