import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

/** How long a browser stays signed in. */
export const sessionMs: number = 12 * 3600 * 1000
/** Most sessions that were ended early and are remembered; they end by themselves after `sessionMs`. */
const maxEnded = 10_000

/** A browser that signed in. */
export interface Session {
  /** A number that only this session has. Without the signature it opens nothing. */
  readonly id: string
  readonly endsAtMs: number
}

/**
 * Sessions of the page. A session is not kept: it is a number, its end, and a signature by a key that is derived from
 * the admin token. So every daemon with the same token accepts it, which matters behind a load balancer, and memory
 * does not grow with sign-ins. A change of the token ends all of them.
 */
export class Sessions {
  readonly #token: string
  readonly #nowMs: () => number
  readonly #ended = new Map<string, number>()
  readonly #listeners = new Set<(session: Session) => void>()
  #key: Buffer | undefined

  constructor(adminToken: string, nowMs: () => number) {
    this.#token = adminToken
    this.#nowMs = nowMs
  }

  /** What the cookie of a new session holds. */
  begin(): { readonly value: string; readonly session: Session } {
    const id = randomBytes(16).toString('base64url')
    const endsAtMs = this.#nowMs() + sessionMs
    const signed = `${id}.${endsAtMs}`
    return { value: `${signed}.${this.#sign(signed).toString('base64url')}`, session: { id, endsAtMs } }
  }

  /** The session of a cookie; undefined when it was not signed here, is over, or was ended. */
  find(value: string | undefined): Session | undefined {
    const [, id, ends, signature] = /^([\w-]{22})\.(\d{13,15})\.([\w-]{43})$/.exec(value ?? '') ?? []
    if (id === undefined || Number(ends) <= this.#nowMs() || this.#ended.has(id)) return undefined
    const given = Buffer.from(signature!, 'base64url')
    return timingSafeEqual(given, this.#sign(`${id}.${ends}`)) ? { id, endsAtMs: Number(ends) } : undefined
  }

  /** Ends a session before its time, on this daemon; a listener may end it on others. */
  end(session: Session): void {
    const nowMs = this.#nowMs()
    if (this.#ended.has(session.id) || session.endsAtMs <= nowMs) return
    for (const [id, endsAtMs] of this.#ended) if (endsAtMs <= nowMs) this.#ended.delete(id)
    if (this.#ended.size >= maxEnded) this.#ended.delete(this.#ended.keys().next().value!)
    this.#ended.set(session.id, session.endsAtMs)
    for (const listener of this.#listeners) listener(session)
  }

  /** Calls a listener with each session that is ended before its time, until the returned function is called. */
  onEnded(listener: (session: Session) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #sign(text: string): Buffer {
    // Slow to derive, so that a weak token cannot be guessed from a cookie.
    this.#key ??= scryptSync(this.#token, 'sluice page session', 32)
    return createHmac('sha256', this.#key).update(text).digest()
  }
}
