import type { ServerResponse } from 'node:http'
import type { Denial, GuardOutcome } from '../../admission/outcome.ts'
import { isDenial, type OnDenied } from '../request/adapter-options.ts'
import { onResponseEnd, setHeaders, writeDenial } from './node-response.ts'
import { watchAnswer } from './watch-answer.ts'

/** Writes an outcome to a Node response; then the request goes on with `pass`, or has been answered. */
export function applyOutcome<Exchange, Decided>(
  outcome: GuardOutcome<Decided>,
  response: ServerResponse,
  onDenied: OnDenied<Exchange, never, Decided> | undefined,
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
    else answerOwn(response, denial, () => onDenied(denial, exchange()), fail)
  } catch (error) {
    fail(error)
    return
  }
  if (denial === undefined) pass()
}

function answerOwn<Decided>(
  response: ServerResponse,
  denial: Denial<Decided>,
  own: () => ReturnType<OnDenied<never, never, Decided>>,
  fail: (error: unknown) => void,
): void {
  const isAnswered = watchAnswer(response)
  Promise.resolve(own())
    .then((answer) => {
      if (isDenial(answer)) writeDenial(response, answer)
      // Otherwise the client would wait for ever.
      else if (!isAnswered()) writeDenial(response, denial)
    })
    .catch(fail)
}
