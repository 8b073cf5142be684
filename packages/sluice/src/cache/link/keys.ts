/**
 * The Redis keys of one cache, under its prefix (`sluice:#cache/<service>/<name>/`). Names never start with `#`, so
 * nothing collides.
 */
export interface CacheKeys {
  readonly prefix: string
  value(encoded: string): string
  /** The fill lock, in the slot of its value. */
  lock(encoded: string): string
  /** The log, in one slot: a hash and three sorted sets. */
  readonly log: readonly [string, string, string, string]
  readonly channel: string
}

export function cacheKeys(prefix: string): CacheKeys {
  const log = `{${prefix}#log}`
  return {
    prefix,
    value: (encoded) => prefix + encoded,
    lock: (encoded) => `{${prefix}${encoded}}!lock`,
    log: [log, `${log}!keys`, `${log}!scopes`, `${log}!proofs`],
    channel: `${prefix}#invalidations`,
  }
}
