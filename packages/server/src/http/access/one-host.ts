import type { IncomingMessage, RequestListener } from 'node:http'
import { problemAnswer } from '../problem.ts'

const refusal = problemAnswer({
  status: 400,
  message: 'The request has more than one Host header.',
  extra: { close: true },
})

/**
 * Answers 400 to requests with several Host headers, as RFC 9112 wants. Node takes the first, and a proxy in front may
 * have taken another.
 */
export function oneHost(answer: RequestListener): RequestListener {
  return function checked(request, response) {
    if (!hasSeveralHosts(request)) answer(request, response)
    else response.writeHead(400, refusal.headers).end(refusal.body)
  }
}

/** Every request comes by here, so no object is made of its headers. */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}
