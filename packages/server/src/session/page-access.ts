import type { IncomingMessage } from 'node:http'
import { createLimiter, type Limiter } from 'sluice'
import { requireToken, type TokenCheck } from '../http/access.ts'
import { HttpProblem } from '../http/problem.ts'
import { codeMs, OneTimeCodes } from './one-time-codes.ts'
import { type Session, Sessions, sessionMs } from './sessions.ts'

const attemptsPerMinute = { address: 10, all: 120 }
const safeMethods = ['GET', 'HEAD', 'OPTIONS']

/** How people get from a code or the token to a session, and what a session may do. */
export class PageAccess {
  readonly #sessions: Sessions
  readonly #codes: OneTimeCodes
  readonly #attempts: Promise<Limiter>
  readonly #isSecure: boolean
  readonly #token: TokenCheck

  constructor(adminToken: string, isSecure: boolean, nowMs: () => number = Date.now) {
    this.#sessions = new Sessions(adminToken, nowMs)
    this.#codes = new OneTimeCodes(nowMs)
    this.#isSecure = isSecure
    this.#token = requireToken('admin', [adminToken])
    this.#attempts = createLimiter({
      policy: {
        service: 'sign-in',
        rules: [
          { name: 'address', limits: { rpm: attemptsPerMinute.address } },
          { name: 'all', limits: { rpm: attemptsPerMinute.all } },
        ],
      },
    })
  }

  /** A code for the page, for whoever has the token. */
  issueCode(): { readonly code: string; readonly expiresInMs: number } {
    return { code: this.#codes.issue(), expiresInMs: codeMs }
  }

  /** Exchanges a code or the token for a session: answers its cookie. */
  async signIn(request: IncomingMessage, secret: string): Promise<{ cookie: string; session: Session }> {
    const attempts = await this.#attempts
    const address = request.socket.remoteAddress ?? 'unknown'
    // Counted before anything is compared, so that attempts at the same time cannot slip through; given back below.
    for (const [rule, key] of [
      ['address', address],
      ['all', 'all'],
    ] as const) {
      const { allowed, retryAfterMs } = await attempts.take(key, { rule })
      if (!allowed)
        throw new HttpProblem(429, 'Too many attempts to sign in; wait a minute.', {
          retryAfterMs: Math.ceil(retryAfterMs),
        })
    }
    if (!this.#isToken(secret) && !this.#codes.use(secret))
      throw new HttpProblem(
        401,
        'That is neither the admin token nor a code that can still be used: codes last 60 s and work once.',
      )
    await attempts.refund(address, { rule: 'address' })
    await attempts.refund('all', { rule: 'all' })
    const { value, session } = this.#sessions.begin()
    return { cookie: this.#cookie(request, value, sessionMs), session }
  }

  /** Ends the session of a request: answers the cookie that removes it. */
  signOut(request: IncomingMessage): string {
    this.#sessions.end(cookieOf(request))
    return this.#cookie(request, '', 0)
  }

  sessionOf(request: IncomingMessage): Session | undefined {
    return this.#sessions.find(cookieOf(request))
  }

  /** Throws unless a request has the token, or a session and, where it changes something, the header of the page. */
  readonly check: TokenCheck = (request) => {
    const { authorization, 'x-sluice-token': token } = request.headers
    const hasToken = authorization !== undefined || token !== undefined
    if (hasToken || this.sessionOf(request) === undefined) this.#token(request)
    else requirePage(request)
  }

  async close(): Promise<void> {
    await (await this.#attempts).close()
  }

  #isToken(secret: string): boolean {
    try {
      this.#token({ headers: { 'x-sluice-token': secret } } as unknown as IncomingMessage)
      return true
    } catch {
      return false
    }
  }

  #cookie(request: IncomingMessage, value: string, ageMs: number): string {
    const ends = ageMs === 0 ? '; Max-Age=0' : ''
    return `${cookieName(request)}=${value}; Path=/; HttpOnly; SameSite=Strict${this.#isSecure ? '; Secure' : ''}${ends}`
  }
}

/**
 * A form of another site can send a POST with the cookie where SameSite is not known, but not this header.
 */
export function requirePage({ method = 'GET', headers }: IncomingMessage): void {
  if (!safeMethods.includes(method) && headers['x-sluice-page'] === undefined)
    throw new HttpProblem(403, 'Signing in and out, and whatever a session changes, needs the header X-Sluice-Page.')
}

/** Cookies do not tell ports apart, so two daemons on one machine need two names. */
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
