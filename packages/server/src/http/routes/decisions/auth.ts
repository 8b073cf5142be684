import type { Context } from 'hono'
import type { RequestView } from 'sluice'
import { clientAddress, limiterGuard } from 'sluice/http'
import type { NodeEnv } from '../../access/access.ts'
import { type HeaderFamily, headerFamilies, originalRequest } from '../../input/original-request.ts'
import { readQuery } from '../../input/read-query.ts'
import { HttpProblem, problemResponse } from '../../problem.ts'
import type { Routes } from '../../router.ts'

const denyStatuses = ['401', '403', '429'] as const

/**
 * `/v1/auth`: for nginx `auth_request`, HAProxy, Traefik ForwardAuth and Caddy `forward_auth`, which ask whether a
 * request may pass and send its method and target in headers.
 */
export const authRoute: Routes = ({ proxies }, { limiter, ring, identity: options }) => {
  const addressOf = clientAddress(options)
  // Made when a proxy asks for the first time: it warns when no rule can apply to requests, which a daemon without
  // proxies may well want.
  let guard: ReturnType<typeof limiterGuard<RequestView>> | undefined

  async function decide(c: Context<NodeEnv>, family: HeaderFamily | undefined): Promise<Response> {
    const { incoming } = c.env
    const headers = Object.fromEntries(c.req.raw.headers)
    const original = originalRequest(incoming, family)
    // The body stays with the proxy.
    for (const name of ['content-length', 'content-type', 'transfer-encoding']) delete headers[name]
    const view = { ...original, headers, ip: addressOf(incoming.socket.remoteAddress, { headers }) }
    guard ??= limiterGuard<RequestView>(limiter, { inFlight: false })
    const atMs = Date.now()
    const outcome = await guard.decide(view, view)
    ring.add({ request: view, cost: undefined }, { allowed: outcome.denial === undefined }, atMs)
    const sent = Object.fromEntries(outcome.headers)
    if (outcome.denial === undefined) return new Response(null, { status: 200, headers: sent })
    const { status, body } = outcome.denial
    return new Response(c.req.method === 'HEAD' ? null : body, { status, headers: sent })
  }

  proxies.all('/v1/auth', async function auth(c) {
    const query = readQuery(c, 'deny', 'headers')
    const deny = oneOf('deny', query.deny, denyStatuses)
    const family = oneOf<HeaderFamily>('headers', query.headers, headerFamilies)
    const answer = await decide(c, family).catch((error) => {
      // A client that sends contradicting headers must not make its proxy answer 500.
      if (error instanceof HttpProblem) return problemResponse(error)
      throw error
    })
    if (answer.status === 200) return answer
    answer.headers.set('sluice-status', `${answer.status}`)
    // nginx takes only 401 and 403 for a denial, and everything else for a fault.
    return deny === undefined ? answer : new Response(answer.body, { status: Number(deny), headers: answer.headers })
  })
}

function oneOf<Choice extends string>(
  name: string,
  value: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  const found = choices.find((each) => each === value)
  if (value !== undefined && found === undefined)
    throw new HttpProblem(400, `${name} must be one of ${choices.join(', ')}.`)
  return found
}
