import type { Duration } from '../core/duration.ts'
import type { CloseOptions, Part } from '../runtime/part.ts'

/** How fresh one data source is. */
export interface SourceFreshness {
  readonly source: string
  readonly stale: boolean
  /** For how long it has been stale; 0 while it is fresh. */
  readonly staleMs: number
  /** How long ago its producer last reported; `Infinity` for a source that never did. */
  readonly ageMs: number
}

export interface FreshnessEvents {
  /** A producer in this process reported a source. */
  reported: { readonly source: string; readonly ttlMs: number }
  /** A call did not reach Redis. */
  failed: { readonly operation: 'report' | 'read' | 'forget'; readonly error: unknown }
}

/** The names of all events. */
export const freshnessEventNames: Readonly<Record<keyof FreshnessEvents, true>> = { reported: true, failed: true }

/** Counts since it was created. */
export interface FreshnessStats {
  readonly reports: number
  readonly reads: number
  readonly failures: number
}

/** Gauges `health:<source>`: producers write them, `/ready` and metrics read them. */
export interface Freshness extends Part<FreshnessEvents> {
  /** Called by a producer: the data of a source is fresh, for `ttl` from now. */
  report(source: string, ttl: Duration): Promise<void>
  /** All sources that ever reported or should, by name. Rejects when Redis does not answer. */
  read(): Promise<SourceFreshness[]>
  /** Removes a source that no longer exists; otherwise it would stay stale. One that should report stays listed. */
  forget(source: string): Promise<void>
  stats(): FreshnessStats
  close(options?: CloseOptions): Promise<void>
}
