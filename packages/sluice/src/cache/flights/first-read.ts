import type { ReadWaiter, StoredValue } from '../link/cache-link.ts'
import type { ReadMark } from '../lookup/cache-core.ts'
import type { Stored } from '../lookup/reading.ts'
import type { RedisSide } from '../lookup/redis-side.ts'
import type { FromLanded, InFlight } from './in-flight.ts'

/**
 * The read that a flight begins with, for a key that is not in process. One object instead of several functions and
 * promises, as most lookups in Redis need nothing else.
 */
export class FirstRead<T = unknown> implements ReadWaiter {
  readonly flight: InFlight
  readonly mark: ReadMark
  /** By when Redis must have answered, by the monotonic clock. */
  readonly endMs: number
  /** What the first caller gets. */
  readonly pick: FromLanded<T>
  readonly answer: (picked: T | Promise<T>) => void
  readonly #side: RedisSide
  readonly #ended: (read: FirstRead, stored: Stored) => void

  constructor(
    flight: InFlight,
    mark: ReadMark,
    endMs: number,
    pick: FromLanded<T>,
    answer: (picked: T | Promise<T>) => void,
    side: RedisSide,
    ended: (read: FirstRead, stored: Stored) => void,
  ) {
    this.flight = flight
    this.mark = mark
    this.endMs = endMs
    this.pick = pick
    this.answer = answer
    this.#side = side
    this.#ended = ended
  }

  resolve(stored: StoredValue | undefined): void {
    this.#ended(this as FirstRead, stored ?? null)
  }

  reject(error: unknown): void {
    this.#side.failed(error)
    this.#ended(this as FirstRead, undefined)
  }
}
