/**
 * The Redis keys of one cache, under its prefix (`sluice:#cache/<namespace>/`). Names never start with `#`, so nothing
 * collides.
 */
export interface CacheKeys {
  value(encoded: string): string
  /** In the slot of its value. */
  claim(encoded: string): string
  /** The log, in one slot: a hash and two sorted sets. */
  readonly log: readonly [string, string, string]
  readonly channel: string
}

export function cacheKeys(prefix: string): CacheKeys {
  const log = `{${prefix}#log}`
  return {
    value: (encoded) => prefix + encoded,
    claim: (encoded) => `{${prefix}${encoded}}!claim`,
    log: [log, `${log}!keys`, `${log}!scopes`],
    channel: `${prefix}#invalidations`,
  }
}
