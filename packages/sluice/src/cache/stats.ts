/** Counts since the cache was created. */
export interface CacheStats {
  readonly hits: { readonly memory: number; readonly redis: number }
  readonly staleServed: number
  readonly misses: number
  readonly fetches: number
  readonly fetchErrors: number
  readonly sharedFlights: number
  readonly refusedFetches: number
  readonly skipped: { readonly unencodable: number; readonly oversized: number; readonly damaged: number }
  readonly invalidations: {
    readonly sent: number
    readonly received: number
    readonly recovered: number
    readonly queued: number
  }
  /** How often entries became only stale, because the log was lost or its server changed. */
  readonly unproven: number
  readonly memory: { readonly entries: number; readonly bytes: number; readonly evictions: number }
  readonly flights: number
  readonly redis: 'none' | 'up' | 'down'
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] extends object ? Mutable<T[Name]> : T[Name] }

/** The counters behind `stats()`. */
export type Counts = Mutable<Omit<CacheStats, 'memory' | 'flights' | 'redis'>>

export function newCounts(): Counts {
  return {
    hits: { memory: 0, redis: 0 },
    staleServed: 0,
    misses: 0,
    fetches: 0,
    fetchErrors: 0,
    sharedFlights: 0,
    refusedFetches: 0,
    skipped: { unencodable: 0, oversized: 0, damaged: 0 },
    invalidations: { sent: 0, received: 0, recovered: 0, queued: 0 },
    unproven: 0,
  }
}
