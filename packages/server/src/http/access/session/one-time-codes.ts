import { createHash, randomInt, timingSafeEqual } from 'node:crypto'
import type { Person } from '../../../config/secrets/tokens.ts'

/**
 * Without letters and digits that look alike: 32 of them, so that ten make 50 bits. That is too many to guess in a
 * minute.
 */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const length = 10
/** How long a code can be used. */
export const codeMs = 60_000
/** Most codes that can be used at the same time; a new one takes the place of the oldest. */
const maxCodes = 16

interface Code {
  readonly digest: Buffer
  readonly endsMs: number
  readonly person: Person
}

/** Codes that sign in once, within a minute. */
export class OneTimeCodes {
  readonly #nowMs: () => number
  #codes: readonly Code[] = []

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** A new code that signs this person in, to read and type: `K7QM2-XPA4N`. */
  issue(person: Person): string {
    const code = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
    this.#codes = [...this.#valid(), { digest: digest(code), endsMs: this.#nowMs() + codeMs, person }].slice(-maxCodes)
    return `${code.slice(0, length / 2)}-${code.slice(length / 2)}`
  }

  /** Who signs in with this code, if it can be used; it cannot be used again. */
  use(text: string): Person | undefined {
    const given = digest(text.replace(/[-\s]/g, '').toUpperCase())
    // All are compared, and digests have equal lengths, so the time says nothing about a code.
    const found = this.#valid().filter((code) => timingSafeEqual(code.digest, given))
    this.#codes = this.#valid().filter((code) => !found.includes(code))
    return found[0]?.person
  }

  #valid(): readonly Code[] {
    const nowMs = this.#nowMs()
    return this.#codes.filter(({ endsMs }) => endsMs > nowMs)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
