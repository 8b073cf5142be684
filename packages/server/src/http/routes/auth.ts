import type { RequestView } from 'sluice'
import { identity, limiterGuard, pathOf, queryOf } from 'sluice/http'
import type { Routes } from '../app.ts'
import { HttpProblem } from '../problem.ts'

const denyStatuses = ['401', '403', '429']
const method = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * `/v1/auth`: for nginx `auth_request`, Traefik ForwardAuth and Caddy `forward_auth`, which ask whether a request may pass and send
 * its method and target in headers.
 */
export const authRoute: Routes = (app, { limiter, trustedProxies }) => {
  const identify = identity({ trustedProxies })
  const guard = limiterGuard<RequestView>(limiter, { inFlight: false })
  app.all('/v1/auth', async function auth(c) {
    const deny = c.req.query('deny')
    if (deny !== undefined && !denyStatuses.includes(deny))
      throw new HttpProblem(400, `deny must be one of ${denyStatuses.join(', ')}.`)
    const headers = Object.fromEntries(c.req.raw.headers)
    const view = originalRequest(headers, identify(c.env?.incoming?.socket.remoteAddress, headers))
    const outcome = await guard.decide(view, view)
    const sent = Object.fromEntries(outcome.headers)
    if (outcome.denial === undefined) return new Response(null, { status: 200, headers: sent })
    const { status, body } = outcome.denial
    // nginx takes only 401 and 403 for a denial, and everything else for a fault.
    return new Response(c.req.method === 'HEAD' ? null : body, {
      status: deny === undefined ? status : Number(deny),
      headers: sent,
    })
  })
}

/** The request that the proxy asks about. Its body stays with the proxy. */
function originalRequest(headers: Record<string, string>, ip: string | undefined): RequestView {
  const asked = headers['x-original-method'] ?? headers['x-forwarded-method'] ?? 'GET'
  const target = headers['x-original-uri'] ?? headers['x-forwarded-uri'] ?? '/'
  if (!method.test(asked) || target === '')
    throw new HttpProblem(400, 'X-Original-Method and X-Original-URI must be the method and the target of a request.')
  for (const name of ['content-length', 'content-type', 'transfer-encoding']) delete headers[name]
  return { method: asked, path: pathOf(target), query: queryOf(target), headers, ip }
}
