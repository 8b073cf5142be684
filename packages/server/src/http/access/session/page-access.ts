import type { IncomingMessage } from 'node:http'
import type { Person, Role } from '../../../config/secrets/tokens.ts'
import { HttpProblem } from '../../problem.ts'
import { requireToken, type TokenCheck, tokenNames, tokensOf } from '../access.ts'
import type { WrongSecrets } from '../wrong-secrets.ts'
import { codeMs, OneTimeCodes } from './one-time-codes.ts'
import { SessionStreams } from './session-streams.ts'
import { type OpenSession, Sessions, sessionMs } from './sessions.ts'

const safeMethods = ['GET', 'HEAD', 'OPTIONS']

/** How people get from a code or the token to a session, and what a session may do. */
export class PageAccess {
  readonly sessions: Sessions
  readonly #streams: SessionStreams
  readonly #codes: OneTimeCodes
  readonly #wrongSecrets: WrongSecrets
  readonly #isTls: boolean
  readonly #refuse: TokenCheck
  readonly #find: (token: string) => Person | undefined

  constructor(
    people: () => readonly Person[],
    isTls: boolean,
    wrongSecrets: WrongSecrets,
    nowMs: () => number = Date.now,
  ) {
    this.sessions = new Sessions(people, nowMs)
    this.#streams = new SessionStreams(this.sessions, nowMs)
    this.#codes = new OneTimeCodes(nowMs)
    this.#isTls = isTls
    this.#wrongSecrets = wrongSecrets
    this.#refuse = requireToken('admin', people, wrongSecrets)
    this.#find = tokenNames(people)
  }

  /** A code for the page that signs this person in. */
  issueCode(person: Person): { readonly code: string; readonly expiresInMs: number } {
    return { code: this.#codes.issue(person), expiresInMs: codeMs }
  }

  /** Exchanges a code or the token for a session: answers its cookie. */
  signIn(request: IncomingMessage, secret: string): { readonly cookie: string; readonly session: OpenSession } {
    const person = this.#find(secret) ?? this.#codes.use(secret)
    if (person === undefined) {
      const detail = 'That is neither a token nor a code that can still be used: codes last 60 s and work once.'
      throw this.#wrongSecrets.refusal(request, new HttpProblem(401, detail))
    }
    const { value, session } = this.sessions.begin(person)
    return { cookie: this.#cookie(request, value, sessionMs), session }
  }

  /** Ends the session of a request: answers the cookie that removes it. */
  signOut(request: IncomingMessage): string {
    const session = this.sessionOf(request)
    if (session !== undefined) this.sessions.end(session)
    return this.#cookie(request, '', 0)
  }

  sessionOf(request: IncomingMessage): OpenSession | undefined {
    return this.sessions.find(cookieOf(request))
  }

  /** Who makes a request, by its token or else by its session. */
  personOf(request: IncomingMessage): Person | undefined {
    if (!hasToken(request)) return this.sessionOf(request)?.person
    return tokensOf(request)
      .map(this.#find)
      .find((person) => person !== undefined)
  }

  /**
   * Counts a stream that a session keeps open, until the returned function is called. `close` is called when the
   * session ends: what was signed out must not go on reading. Requests with the token are not counted.
   */
  holdStream(request: IncomingMessage, close: () => void): () => void {
    const session = hasToken(request) ? undefined : this.sessionOf(request)
    return session === undefined ? () => {} : this.#streams.hold(session, close)
  }

  /**
   * Throws unless a request has a token of this role, or a session and, where it changes something, the header of the
   * page.
   */
  check(role: Role): TokenCheck {
    return (request) => {
      const person = this.personOf(request)
      if (person === undefined) this.#refuse(request)
      if (role === 'admin' && person?.role === 'read')
        throw new HttpProblem(403, `${person.name} may look, and not change anything: this needs an admin token.`)
      if (!hasToken(request)) requirePage(request)
    }
  }

  /** Whether a request came over TLS, as far as is known: to the daemon, or to a proxy that says so. */
  isSecure(request: IncomingMessage): boolean {
    return this.#isTls || cameByTls(request)
  }

  #cookie(request: IncomingMessage, value: string, ageMs: number): string {
    const ends = ageMs === 0 ? '; Max-Age=0' : ''
    const secure = this.isSecure(request) ? '; Secure' : ''
    return `${cookieName(request)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${ends}`
  }
}

/** Whether a proxy in front has TLS. Whoever pretends so has only a cookie that its browser sends less often. */
function cameByTls({ headers }: IncomingMessage): boolean {
  return headers['x-forwarded-proto'] === 'https' || /(^|[;,\s])proto="?https\b/i.test(headers.forwarded ?? '')
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
