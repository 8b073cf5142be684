import type { KeySpec } from '../keys/key-spec.ts'
import type { InvalidationView, Stamped, Validity } from '../protocol/invalidation-view.ts'

/** A value in the first level, or just read from Redis. Times are milliseconds of the cache's clock. */
export interface Entry extends Stamped {
  readonly spec: KeySpec
  readonly value: unknown
  /** Estimated bytes in memory. */
  readonly bytes: number
  readonly madeAtMs: number
  /** Until when it is fresh, may be returned while one caller fetches, and may be returned when a fetch fails. */
  readonly freshUntilMs: number
  readonly staleUntilMs: number
  readonly errorUntilMs: number
  /** How long the fetch took; 0 for what a producer set. */
  readonly fetchMs: number
  /** What the source calls this version of the value, for a conditional refresh. */
  readonly etag: string | undefined
  /** How many fetches in a row failed since, and until when the source is not asked again. */
  failures: number
  retryAtMs: number
  /** Which copy in Redis it is: when that was stored. 0 for none, or while it is being stored. */
  id: number
  /** The state of the view when this was last judged. Since then nothing concerned it. */
  generation: string | undefined
  sequence: number
  epoch: number
  scopeVersion: number
  uses: number
}

/** Judges an entry of the first level, and records the result, so that the next hit need not. */
export function judgeEntry(view: InvalidationView, entry: Entry): Validity {
  if (entry.epoch === view.epoch && entry.scopeVersion === view.scopeVersion) return 'valid'
  const validity = view.judge(entry, Number.POSITIVE_INFINITY)
  if (validity !== 'valid' || entry.epoch !== view.epoch) return validity === 'invalid' ? 'invalid' : 'unknown'
  entry.generation = view.generation
  entry.sequence = view.sequence
  entry.scopeVersion = view.scopeVersion
  return 'valid'
}

/**
 * Whether to fetch before the TTL ends (XFetch, Vattani et al., VLDB'15): the nearer the end and the longer a fetch
 * takes, the likelier. At most half the TTL early. The fill lock ensures that only one process does.
 */
export function isEarly(entry: Entry, nowMs: number, random: () => number): boolean {
  const leftMs = entry.freshUntilMs - nowMs
  if (entry.fetchMs === 0 || leftMs > (entry.freshUntilMs - entry.madeAtMs) / 2) return false
  return -entry.fetchMs * Math.log(1 - random()) >= leftMs
}

/** Where an entry came from: just read from Redis, or already in L1. */
export function levelOf(
  entry: Entry,
  read: { readonly kind: string; readonly id?: number } | undefined,
): 'memory' | 'redis' {
  return read?.kind === 'stored' && entry.id === read.id ? 'redis' : 'memory'
}
