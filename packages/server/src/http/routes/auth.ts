import { fetchGuard } from 'sluice/hono'
import type { Routes } from '../app.ts'
import { HttpProblem } from '../problem.ts'

const denyStatuses = ['401', '403', '429']

/**
 * `/v1/auth`: for nginx `auth_request`, Traefik ForwardAuth and Caddy `forward_auth`, which ask whether a request may pass and send
 * its method and target in headers.
 */
export const authRoute: Routes = (app, { limiter, trustedProxies }) => {
  const peers = new WeakMap<Request, string | undefined>()
  const guard = fetchGuard(limiter, () => new Response(null, { status: 200 }), {
    identity: { trustedProxies },
    remoteAddress: (request) => peers.get(request),
    inFlight: false,
  })
  app.all('/v1/auth', async function auth(c) {
    const deny = c.req.query('deny')
    if (deny !== undefined && !denyStatuses.includes(deny))
      throw new HttpProblem(400, `deny must be one of ${denyStatuses.join(', ')}.`)
    const original = originalRequest(c.req.raw)
    peers.set(original, c.env?.incoming?.socket.remoteAddress)
    const answer = await guard(original)
    // nginx takes only 401 and 403 for a denial, and everything else for a fault.
    if (deny === undefined || answer.status === 200) return answer
    return new Response(answer.body, { status: Number(deny), headers: answer.headers })
  })
}

function originalRequest({ headers }: Request): Request {
  const method = headers.get('x-original-method') ?? headers.get('x-forwarded-method') ?? 'GET'
  const target = headers.get('x-original-uri') ?? headers.get('x-forwarded-uri') ?? '/'
  const forwarded = new Headers(headers)
  // The body stays with the proxy.
  for (const name of ['content-length', 'content-type', 'transfer-encoding']) forwarded.delete(name)
  try {
    return new Request(new URL(target, 'http://original'), { method, headers: forwarded })
  } catch {
    throw new HttpProblem(400, 'X-Original-Method and X-Original-URI must be the method and the target of a request.')
  }
}
