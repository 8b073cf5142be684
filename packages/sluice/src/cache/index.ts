export { createFreshness, type FreshnessOptions } from '../freshness/create-freshness.ts'
export type { Freshness, SourceFreshness } from '../freshness/freshness.ts'
export { freshnessMetrics, freshnessMetricTable } from '../freshness/metrics.ts'
export type * from './cache.ts'
export { type CacheHeaderOptions, type CacheHeaders, cacheHeaders } from './cache-headers.ts'
export { type CacheOptions, createCache } from './create-cache.ts'
export type { CacheEvents } from './events.ts'
export {
  CacheKey,
  type Everything,
  everything,
  type InvalidationTarget,
  KeyPrefix,
  Tag,
  tag,
} from './keys/cache-key.ts'
export { defineKeys, type KeyMaker, key, type PartsOf } from './keys/define-keys.ts'
export type { EntryOptions, EntryRules, KeySpec } from './keys/key-spec.ts'
export { type KeyDocument, loadKeys } from './keys/load-keys.ts'
export type { Ttl, TtlOf } from './keys/ttl.ts'
export { type InspectedEntry, inspectEntry, isCacheKey } from './link/inspect-entry.ts'
export { cacheMetrics, cacheMetricTable } from './metrics.ts'
export type { Fetcher } from './options.ts'
export type { CacheStats } from './stats.ts'
export { type Codec, taggedCodec } from './values/codec.ts'
