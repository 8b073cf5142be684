import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { NamedToken } from '../../config/secrets/tokens.ts'
import { HttpProblem } from '../problem.ts'
import type { WrongSecrets } from './wrong-secrets.ts'

/** What @hono/node-server puts into `c.env`. */
export interface NodeEnv {
  Bindings: { readonly incoming: IncomingMessage }
}

/** Throws unless a request carries one of the tokens that are accepted. */
export type TokenCheck = (request: IncomingMessage) => void

/**
 * Accepts a request with one of these tokens, as `Authorization: Bearer` or as `X-Sluice-Token`. The second is for
 * proxies, whose clients have an `Authorization` of their own. The address of the client never counts: behind a proxy
 * every client is local.
 */
export function requireToken(
  name: string,
  tokens: () => readonly NamedToken[],
  wrongSecrets?: WrongSecrets,
): TokenCheck {
  const find = tokenNames(tokens)
  return (request) => {
    const given = tokensOf(request)
    if (given.some((each) => find(each) !== undefined)) return
    const wrong = new HttpProblem(401, `This route needs the ${name} token: Authorization: Bearer ...`)
    // A request without a token guesses nothing.
    throw given.length === 0 ? wrong : (wrongSecrets?.refusal(request, wrong) ?? wrong)
  }
}

/** The tokens that a request carries. */
export function tokensOf({ headers }: IncomingMessage): readonly string[] {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  return [bearer, headers['x-sluice-token']].filter((each) => typeof each === 'string')
}

/** Finds who has a token; undefined when it is none of these. The list may change at any time. */
export function tokenNames<Named extends NamedToken>(
  tokens: () => readonly Named[],
): (text: string) => Named | undefined {
  return (text) => {
    // Digests have equal lengths, so the time of the comparison says nothing about the token.
    // All are compared, so that the time does not tell which one matches.
    const given = digest(text)
    return tokens().filter((each) => timingSafeEqual(digestOf(each), given))[0]
  }
}

const digests = new WeakMap<NamedToken, Buffer>()

function digestOf(named: NamedToken): Buffer {
  const found = digests.get(named) ?? digest(named.token)
  digests.set(named, found)
  return found
}

/**
 * Throws when a request was made by a page of another site. A page whose name was pointed at this machine afterwards
 * (DNS rebinding) counts as another site, too: its requests carry an origin with that name.
 */
export function refuseOtherSites({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  const { origin } = headers
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none'
  const host = origin === undefined ? headers.host : hostOf(origin)
  if (!isForeign && host === headers.host) return
  // The browser itself says where a page is from; an older one, and one without TLS, leaves that open.
  const why = isForeign || host === undefined ? '' : `${changedHost(host, headers.host)} `
  throw new HttpProblem(403, `${why}Pages of other sites may not use this API.`)
}

/** A proxy that passes requests on under the daemon's own name, as nginx does unless it is told otherwise. */
function changedHost(opened: string, received: string | undefined): string {
  return `This page is at ${opened}, and the request arrived for ${received ?? 'no host'}. A proxy in front has to pass the Host header on unchanged; for nginx: proxy_set_header Host $http_host;`
}

/** Throws when a page in a browser asks under a name: only addresses and `localhost` cannot be pointed elsewhere. */
export function refuseRebinding({ headers }: IncomingMessage): void {
  if (headers.origin !== undefined && !isAddress(headers.host))
    throw new HttpProblem(403, 'Pages may use this route only under an address or as localhost.')
}

function isAddress(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:.]+\])(?::\d+)?$/i.test(host)
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
