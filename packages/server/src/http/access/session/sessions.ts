import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import type { Person } from '../../../config/secrets/tokens.ts'

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

/** A session that is open, and whose it is. */
export interface OpenSession extends Session {
  readonly person: Person
}

/**
 * Sessions of the page. A session is not kept: it is a number, its end, a name, and a signature by a key that is
 * derived from the token of that person. So every daemon with the same token accepts it, which matters behind a load
 * balancer, and memory does not grow with sign-ins. Taking the token away ends the sessions of that person only.
 */
export class Sessions {
  readonly #people: () => readonly Person[]
  readonly #nowMs: () => number
  readonly #ended = new Map<string, number>()
  readonly #listeners = new Set<(session: Session) => void>()
  readonly #keys = new Map<string, Buffer>()

  constructor(people: () => readonly Person[], nowMs: () => number) {
    this.#people = people
    this.#nowMs = nowMs
  }

  /** What the cookie of a new session holds. */
  begin(person: Person): { readonly value: string; readonly session: OpenSession } {
    const id = randomBytes(16).toString('base64url')
    const endsAtMs = this.#nowMs() + sessionMs
    const signed = `${id}.${endsAtMs}.${Buffer.from(person.name).toString('base64url')}`
    const signature = this.#sign(signed, person.token).toString('base64url')
    return { value: `${signed}.${signature}`, session: { id, endsAtMs, person } }
  }

  /** The session of a cookie; undefined when it was not signed here, is over, or was ended. */
  find(value: string | undefined): OpenSession | undefined {
    const shape = /^([\w-]{22})\.(\d{13,15})\.([\w-]{1,400})\.([\w-]{43})$/
    const [, id, ends, encoded, signature] = shape.exec(value ?? '') ?? []
    if (id === undefined || Number(ends) <= this.#nowMs() || this.#ended.has(id)) return undefined
    const given = Buffer.from(signature!, 'base64url')
    const name = Buffer.from(encoded!, 'base64url').toString()
    const person = this.#people().find(
      (each) => each.name === name && timingSafeEqual(given, this.#sign(`${id}.${ends}.${encoded}`, each.token)),
    )
    return person && { id, endsAtMs: Number(ends), person }
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

  #sign(text: string, token: string): Buffer {
    // Slow to derive, so that a weak token cannot be guessed from a cookie.
    const key = this.#keys.get(token) ?? scryptSync(token, 'sluice page session', 32)
    this.#keys.set(token, key)
    return createHmac('sha256', key).update(text).digest()
  }
}
