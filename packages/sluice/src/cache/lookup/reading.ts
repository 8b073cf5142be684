import type { ReadWaiter, StoredValue } from '../link/cache-link.ts'
import type { RedisSide } from './redis-side.ts'

/** Waits for one read. */
export class Reading implements ReadWaiter {
  readonly #side: RedisSide
  readonly #answered: (stored: StoredValue | null | undefined) => void

  constructor(side: RedisSide, answered: (stored: StoredValue | null | undefined) => void) {
    this.#side = side
    this.#answered = answered
  }

  resolve(stored: StoredValue | undefined): void {
    this.#side.heard()
    this.#answered(stored ?? null)
  }

  reject(error: unknown): void {
    this.#side.failed(error)
    this.#answered(undefined)
  }
}
