import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type { RequestView } from 'sluice'
import { clientAddress, limiterGuard, pathOf, queryOf } from 'sluice/http'
import type { NodeEnv } from '../../access/access.ts'
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
    const deny = oneOf(c, 'deny', denyStatuses)
    const family = oneOf(c, 'headers', headerFamilies)
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

function oneOf<Choice extends string>(c: Context, name: string, choices: readonly Choice[]): Choice | undefined {
  const value = c.req.query(name)
  const found = choices.find((each) => each === value)
  if (value !== undefined && found === undefined)
    throw new HttpProblem(400, `${name} must be one of ${choices.join(', ')}.`)
  return found
}

/** The two families of headers in which proxies describe the request they ask about. */
const families = {
  'x-original': { method: 'x-original-method', target: 'x-original-uri' },
  'x-forwarded': { method: 'x-forwarded-method', target: 'x-forwarded-uri' },
} as const

type HeaderFamily = keyof typeof families
const headerFamilies: readonly HeaderFamily[] = ['x-original', 'x-forwarded']

/** As much of a request as a proxy describes. */
type Described = Pick<RequestView, 'method' | 'path' | 'query'>

const methodShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/**
 * Some proxies and apps resolve `/a/../b`, also in its encoded spellings, and some do not: no rule could be right for
 * both.
 */
const dotSegment = /(^|\/|%2f|\\|%5c)(\.|%2e){1,2}(\/|%2f|\\|%5c|;|$)/i
const targetShape = /^(\/|\*$|https?:\/\/)/i

/**
 * The request that a proxy asks about. A proxy overwrites the headers of its own family and passes the others on as the
 * client sent them, so the operator names the family. Where none is named, both are read and must not contradict each
 * other: a client could choose which rules it meets otherwise.
 */
function originalRequest(incoming: IncomingMessage, family: HeaderFamily | undefined): Described {
  const read = family === undefined ? headerFamilies : [family]
  const found = read.map((each) => describedBy(incoming, each))
  const methods = new Set(found.map(({ method }) => method).filter((each) => each !== undefined))
  const targets = new Set(found.map(({ target }) => target).filter((each) => each !== undefined))
  if (methods.size > 1 || targets.size > 1)
    throw new HttpProblem(400, 'X-Original-* and X-Forwarded-* contradict each other; name one with ?headers=.')
  // Of half a pair, the other half could be the client's.
  const whole = found.find(({ method, target }) => method !== undefined && target !== undefined)
  const { method, target } = whole ?? {}
  if (method === undefined || target === undefined) {
    const names = read.map((each) => `${families[each].method} and ${families[each].target}`).join(', or ')
    throw new HttpProblem(400, `The proxy must send ${names}.`)
  }
  if (!methodShape.test(method) || !targetShape.test(target))
    throw new HttpProblem(400, 'The headers of the proxy do not hold the method and the target of a request.')
  const path = pathOf(target)
  if (dotSegment.test(path))
    throw new HttpProblem(400, 'The target has dot segments, which clients resolve themselves.')
  return { method, path, query: queryOf(target) }
}

function describedBy(
  incoming: IncomingMessage,
  family: HeaderFamily,
): { readonly method: string | undefined; readonly target: string | undefined } {
  const one = (name: string): string | undefined => {
    const values = incoming.headersDistinct[name]
    if (values !== undefined && values.length > 1)
      throw new HttpProblem(400, `${name} is there ${values.length} times.`)
    return values?.[0]
  }
  const { method, target } = families[family]
  return { method: one(method), target: one(target) }
}
