export {
  createFreshness,
  type Freshness,
  type FreshnessOptions,
  type SourceFreshness,
} from '../freshness/freshness.ts'
export { freshnessMetrics, freshnessMetricTable } from '../freshness/metrics.ts'
export type { Cache, CacheResult, FetchContext, InvalidateOptions, LookupOptions } from './cache.ts'
export { type CacheHeaderOptions, cacheHeaders } from './cache-headers.ts'
export { type CacheOptions, createCache } from './create-cache.ts'
export type { CacheEvents } from './events.ts'
export { type CacheKey, everything, type InvalidationTarget, tag } from './keys/cache-key.ts'
export { defineKeys, type KeyMaker, key } from './keys/define-keys.ts'
export type { EntryOptions } from './keys/key-spec.ts'
export { type KeyDocument, loadKeys } from './keys/load-keys.ts'
export { type InspectedEntry, inspectEntry, isCacheKey } from './link/inspect-entry.ts'
export { cacheMetrics, cacheMetricTable } from './metrics.ts'
export type { CacheStats } from './stats.ts'
export { type Codec, taggedCodec } from './values/codec.ts'
