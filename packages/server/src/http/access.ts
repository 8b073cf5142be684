import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { MiddlewareHandler } from 'hono'
import { HttpProblem } from './problem.ts'

/** What @hono/node-server puts into `c.env`. */
export interface NodeEnv {
  Bindings: { readonly incoming: IncomingMessage }
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Lets only operators through: by a bearer token, compared in constant time; where none is configured, only from this machine, by
 * name of this machine, and not through a proxy.
 */
export function adminOnly(token: string | undefined): MiddlewareHandler<NodeEnv> {
  const wanted = token === undefined ? undefined : digest(token)
  return async function admin(c, next) {
    if (wanted !== undefined) {
      const [, given = ''] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? []
      // Of equal length whatever was sent, so that nothing can be learnt from how long it takes.
      if (!timingSafeEqual(digest(given), wanted))
        throw new HttpProblem(401, 'This route needs the admin token: Authorization: Bearer ...')
    } else if (!isLoopback(c.env?.incoming?.socket.remoteAddress)) {
      throw new HttpProblem(403, 'Without SLUICE_ADMIN_TOKEN this route answers only on the machine itself.')
    } else if (!isLocalName(c.req.header('host'))) {
      // A page elsewhere may point its own name at this machine (DNS rebinding); its requests still carry that name.
      throw new HttpProblem(403, 'Without SLUICE_ADMIN_TOKEN this route answers only as localhost.')
    } else if (forwarding.some((name) => c.req.header(name) !== undefined)) {
      throw new HttpProblem(403, 'Without SLUICE_ADMIN_TOKEN this route does not answer through a proxy.')
    }
    return next()
  }
}

/** Keeps pages of other sites, opened in a browser on this machine, from using the API. */
export const sameSite: MiddlewareHandler<NodeEnv> = async function sameSite(c, next) {
  refuseOtherSites(c.env.incoming)
  return next()
}

/** Throws when a request was made by a page of another site. */
export function refuseOtherSites({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  const { origin } = headers
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none'
  if (isForeign || (origin !== undefined && hostOf(origin) !== headers.host)) {
    throw new HttpProblem(403, 'Pages of other sites may not use this API.')
  }
}

/** Whether an address is of this machine itself. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/i.test(address)
}

function isLocalName(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(host)
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
