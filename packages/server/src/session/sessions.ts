import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

/** How long a browser stays signed in. */
export const sessionMs: number = 12 * 3600 * 1000
/** Most sessions that were ended early and are remembered; they end by themselves after `sessionMs`. */
const maxEnded = 10_000

/** A browser that signed in. */
export interface Session {
  /** The start of a number that only this session has. */
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
    return { value: `${signed}.${this.#sign(signed).toString('base64url')}`, session: { id: id.slice(0, 6), endsAtMs } }
  }

  /** The session of a cookie; undefined when it was not signed here, is over, or was ended. */
  find(value: string | undefined): Session | undefined {
    const [, id, ends, signature] = /^([\w-]{22})\.(\d{13,15})\.([\w-]{43})$/.exec(value ?? '') ?? []
    if (id === undefined || Number(ends) <= this.#nowMs() || this.#ended.has(id)) return undefined
    const given = Buffer.from(signature!, 'base64url')
    return timingSafeEqual(given, this.#sign(`${id}.${ends}`))
      ? { id: id.slice(0, 6), endsAtMs: Number(ends) }
      : undefined
  }

  /** Ends a session before its time, on this daemon. */
  end(value: string | undefined): void {
    const session = this.find(value)
    if (session === undefined) return
    const nowMs = this.#nowMs()
    for (const [id, endsAtMs] of this.#ended) if (endsAtMs <= nowMs) this.#ended.delete(id)
    if (this.#ended.size >= maxEnded) this.#ended.delete(this.#ended.keys().next().value!)
    this.#ended.set(value!.split('.')[0]!, session.endsAtMs)
  }

  #sign(text: string): Buffer {
    // Slow to derive, so that a cookie is no way to guess a token that somebody made up.
    this.#key ??= scryptSync(this.#token, 'sluice page session', 32)
    return createHmac('sha256', this.#key).update(text).digest()
  }
}
