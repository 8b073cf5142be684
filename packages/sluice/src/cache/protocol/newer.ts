import type { Validity } from './invalidation-view.ts'

/** What decides which of two copies of a key is newer. */
export interface Dated {
  /** When Redis stored it, by the clock of Redis; 0 for what is not in Redis, or not yet. */
  readonly id: number
  /**
   * When it was made, by the clock of this process. Of what was read from Redis, the earliest time it can have been.
   */
  readonly madeAtMs: number
}

const rank: Readonly<Record<Validity, number>> = { invalid: 0, unknown: 1, valid: 2 }

/**
 * Whether the copy in the first level stays although Redis answered with another one. A read takes time: meanwhile this
 * process may have fetched or set something newer, and no invalidation distinguishes the two.
 */
export function stays(present: Dated, presentValidity: Validity, read: Dated, readValidity: Validity): boolean {
  if (presentValidity !== readValidity) return rank[presentValidity] > rank[readValidity]
  return present.id > 0 && read.id > 0 ? present.id > read.id : present.madeAtMs >= read.madeAtMs
}
