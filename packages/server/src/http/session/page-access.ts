import type { IncomingMessage } from 'node:http'
import { requireToken, type TokenCheck, tokenTest } from '../access.ts'
import { HttpProblem } from '../problem.ts'
import type { WrongSecrets } from '../wrong-secrets.ts'
import { codeMs, OneTimeCodes } from './one-time-codes.ts'
import { SessionStreams } from './session-streams.ts'
import { type Session, Sessions, sessionMs } from './sessions.ts'

const safeMethods = ['GET', 'HEAD', 'OPTIONS']

/** How people get from a code or the token to a session, and what a session may do. */
export class PageAccess {
  readonly sessions: Sessions
  readonly #streams: SessionStreams
  readonly #codes: OneTimeCodes
  readonly #wrongSecrets: WrongSecrets
  readonly #isSecure: boolean
  readonly #token: TokenCheck
  readonly #isToken: (text: string) => boolean

  constructor(adminToken: string, isSecure: boolean, wrongSecrets: WrongSecrets, nowMs: () => number = Date.now) {
    this.sessions = new Sessions(adminToken, nowMs)
    this.#streams = new SessionStreams(this.sessions, nowMs)
    this.#codes = new OneTimeCodes(nowMs)
    this.#isSecure = isSecure
    this.#wrongSecrets = wrongSecrets
    this.#token = requireToken('admin', [adminToken], wrongSecrets)
    this.#isToken = tokenTest([adminToken])
  }

  /** A code for the page, for a client that has the token. */
  issueCode(): { readonly code: string; readonly expiresInMs: number } {
    return { code: this.#codes.issue(), expiresInMs: codeMs }
  }

  /** Exchanges a code or the token for a session: answers its cookie. */
  signIn(request: IncomingMessage, secret: string): { readonly cookie: string; readonly session: Session } {
    if (!this.#isToken(secret) && !this.#codes.use(secret)) {
      const detail = 'That is neither the admin token nor a code that can still be used: codes last 60 s and work once.'
      throw this.#wrongSecrets.refusal(request, new HttpProblem(401, detail))
    }
    const { value, session } = this.sessions.begin()
    return { cookie: this.#cookie(request, value, sessionMs), session }
  }

  /** Ends the session of a request: answers the cookie that removes it. */
  signOut(request: IncomingMessage): string {
    const session = this.sessionOf(request)
    if (session !== undefined) this.sessions.end(session)
    return this.#cookie(request, '', 0)
  }

  sessionOf(request: IncomingMessage): Session | undefined {
    return this.sessions.find(cookieOf(request))
  }

  /**
   * Counts a stream that a session keeps open, until the returned function is called. `close` is called when the
   * session ends: what was signed out must not go on reading. Requests with the token are not counted.
   */
  holdStream(request: IncomingMessage, close: () => void): () => void {
    const session = hasToken(request) ? undefined : this.sessionOf(request)
    return session === undefined ? () => {} : this.#streams.hold(session, close)
  }

  /** Throws unless a request has the token, or a session and, where it changes something, the header of the page. */
  readonly check: TokenCheck = (request) => {
    if (hasToken(request) || this.sessionOf(request) === undefined) this.#token(request)
    else requirePage(request)
  }

  #cookie(request: IncomingMessage, value: string, ageMs: number): string {
    const ends = ageMs === 0 ? '; Max-Age=0' : ''
    return `${cookieName(request)}=${value}; Path=/; HttpOnly; SameSite=Strict${this.#isSecure ? '; Secure' : ''}${ends}`
  }
}

/** Where there is a token, it counts, and not the session. */
export function hasToken({ headers }: IncomingMessage): boolean {
  return headers.authorization !== undefined || headers['x-sluice-token'] !== undefined
}

/**
 * A form of another site can send a POST with the cookie where SameSite is not known, but not this header.
 */
export function requirePage({ method = 'GET', headers }: IncomingMessage): void {
  if (!safeMethods.includes(method) && headers['x-sluice-page'] === undefined)
    throw new HttpProblem(403, 'Signing in and out, and whatever a session changes, needs the header X-Sluice-Page.')
}

/** Cookies ignore the port, so two daemons on one machine need two names. */
function cookieName({ headers }: IncomingMessage): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1]
  return port === undefined ? 'sluice_session' : `sluice_session_${port}`
}

function cookieOf(request: IncomingMessage): string | undefined {
  const name = `${cookieName(request)}=`
  const found = request.headers.cookie
    ?.split(';')
    .map((each) => each.trim())
    .find((each) => each.startsWith(name))
  return found?.slice(name.length)
}
