import type { StoredValue } from './cache-link.ts'

/** How many digits of time Redis puts before what was stored. */
export const timeDigits = 16

/** A stored copy: the time that Redis put before it, and the rest. What is too short is damaged, and found out when it is read. */
export class StoredCopyBytes implements StoredValue {
  readonly bytes: Buffer
  readonly #nowUs: number

  constructor(bytes: Buffer, nowUs: number) {
    this.bytes = bytes
    this.#nowUs = nowUs
  }

  get id(): string {
    return this.bytes.toString('latin1', 0, timeDigits)
  }

  get ageMs(): number {
    const ageMs = (this.#nowUs - Number(this.id)) / 1000
    return Number.isFinite(ageMs) ? Math.max(0, ageMs) : 0
  }
}
