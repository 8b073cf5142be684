import type { IncomingMessage, RequestListener } from 'node:http'
import { problemType } from 'sluice/http'

const body = JSON.stringify({
  type: 'about:blank',
  title: 'Bad Request',
  status: 400,
  detail: 'The request has more than one Host header.',
})

/**
 * Answers 400 to requests with several Host headers, as RFC 9112 wants. Node takes the first, and a proxy in front may
 * have taken another.
 */
export function oneHost(answer: RequestListener): RequestListener {
  return function checked(request, response) {
    if (!hasSeveralHosts(request)) answer(request, response)
    else response.writeHead(400, { 'content-type': problemType, connection: 'close' }).end(body)
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
