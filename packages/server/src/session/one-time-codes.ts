import { createHash, randomInt, timingSafeEqual } from 'node:crypto'

/** Without letters and digits that look alike: 32 of them, so that eight make 40 bits. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const length = 8
/** How long a code can be used. */
export const codeMs = 60_000
/** Most codes that can be used at the same time; a new one takes the place of the oldest. */
const maxCodes = 16

interface Code {
  readonly digest: Buffer
  readonly endsMs: number
}

/** Codes that sign in once, within a minute. */
export class OneTimeCodes {
  readonly #nowMs: () => number
  #codes: readonly Code[] = []

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** A new code, for people to read and type: `K7QM-2XPA`. */
  issue(): string {
    const code = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
    this.#codes = [...this.#valid(), { digest: digest(code), endsMs: this.#nowMs() + codeMs }].slice(-maxCodes)
    return `${code.slice(0, 4)}-${code.slice(4)}`
  }

  /** Whether this is a code that can be used; it cannot be used again. */
  use(text: string): boolean {
    const given = digest(text.replace(/[-\s]/g, '').toUpperCase())
    // All are compared, and digests have equal lengths, so the time says nothing about a code.
    const found = this.#valid().filter((code) => timingSafeEqual(code.digest, given))
    this.#codes = this.#valid().filter((code) => !found.includes(code))
    return found.length > 0
  }

  #valid(): readonly Code[] {
    const nowMs = this.#nowMs()
    return this.#codes.filter(({ endsMs }) => endsMs > nowMs)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
