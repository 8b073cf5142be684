import type { Verdict } from './invalidation-view.ts'

/** What decides which of two copies of a key is newer. */
export interface Dated {
  /** When Redis stored it, by the clock of Redis; 0 for what is not in Redis, or not yet. */
  readonly id: number
  /**
   * When it was made, by the clock of this process. Of what was read from Redis, the earliest time it can have been.
   */
  readonly madeAtMs: number
}

const rank: Readonly<Record<Verdict, number>> = { dead: 0, unknown: 1, current: 2 }

/**
 * Whether the copy in the first level stays although Redis answered with another one. A read takes time: meanwhile this
 * process may have fetched or set something newer, and no invalidation distinguishes the two.
 */
export function stays(present: Dated, presentVerdict: Verdict, read: Dated, readVerdict: Verdict): boolean {
  if (presentVerdict !== readVerdict) return rank[presentVerdict] > rank[readVerdict]
  return present.id > 0 && read.id > 0 ? present.id > read.id : present.madeAtMs >= read.madeAtMs
}
