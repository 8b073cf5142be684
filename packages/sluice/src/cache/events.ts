/** The names of all events. */
export const cacheEventNames: Readonly<Record<keyof CacheEvents, true>> = {
  hit: true,
  missed: true,
  fetched: true,
  shared: true,
  refused: true,
  skipped: true,
  invalidated: true,
  proofLost: true,
  redisChanged: true,
  warmProgressed: true,
  warmed: true,
}

/** The events of a cache. `name` is the name of the key, never the key itself, so that labels stay bounded. */
export interface CacheEvents {
  /** Answered from a level. */
  hit: { readonly name: string; readonly level: 'memory' | 'redis'; readonly stale: boolean }
  /** Neither level had it. */
  missed: { readonly name: string }
  /** A fetch has ended. */
  fetched: { readonly name: string; readonly tookMs: number; readonly error: unknown }
  /** A caller shares the fetch of another. */
  shared: { readonly name: string }
  /** A fetch could not start: too many of this name were in flight for too long. */
  refused: { readonly name: string }
  /** A value was answered but not kept, or could not be read. */
  skipped: { readonly name: string; readonly reason: 'unencodable' | 'oversized' | 'damaged' }
  /** An invalidation: sent by this process, received as a message, or recovered after messages were lost. */
  invalidated: { readonly way: 'sent' | 'received' | 'recovered' | 'queued'; readonly scopes: number }
  /**
   * Entries can no longer be compared with the log, because of a wipe, an eviction of the log, or a failover. They are
   * only stale.
   */
  proofLost: { readonly reason: 'generation' | 'lost' }
  /** Redis stopped or started to answer. */
  redisChanged: { readonly state: 'up' | 'down'; readonly error?: unknown }
  /** Keys are being fetched again. */
  warmProgressed: { readonly done: number; readonly of: number }
  /** That has ended. `left` are keys that were skipped because the time was up. */
  warmed: { readonly warmed: number; readonly failed: number; readonly left: number; readonly tookMs: number }
}
