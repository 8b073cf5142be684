import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HttpProblem } from './problem.ts'
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
export function requireToken(name: string, tokens: readonly string[], wrongSecrets?: WrongSecrets): TokenCheck {
  const isToken = tokenTest(tokens)
  return (request) => {
    const { headers } = request
    const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
    const given = [bearer, headers['x-sluice-token']].filter((each) => typeof each === 'string')
    if (given.some(isToken)) return
    const wrong = new HttpProblem(401, `This route needs the ${name} token: Authorization: Bearer ...`)
    // A request without a token guesses nothing.
    throw given.length === 0 ? wrong : (wrongSecrets?.refusal(request, wrong) ?? wrong)
  }
}

/** Whether a text is one of the tokens. */
export function tokenTest(tokens: readonly string[]): (text: string) => boolean {
  const accepted = tokens.map(digest)
  // Digests have equal lengths, so the time of the comparison says nothing about the token.
  // All are compared, so that the time does not tell which one matches.
  return (text) => accepted.map((each) => timingSafeEqual(each, digest(text))).includes(true)
}

/**
 * Throws when a request was made by a page of another site. A page whose name was pointed at this machine afterwards
 * (DNS rebinding) counts as another site, too: its requests carry an origin with that name.
 */
export function refuseOtherSites({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  const { origin } = headers
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none'
  if (isForeign || (origin !== undefined && hostOf(origin) !== headers.host)) {
    throw new HttpProblem(403, 'Pages of other sites may not use this API.')
  }
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
