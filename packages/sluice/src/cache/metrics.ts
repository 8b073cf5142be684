import { latencyBuckets, type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge } from '../runtime/metric-rows.ts'
import type { Cache } from './cache.ts'

const table = {
  sluice_cache_hits_total: counter(
    'Lookups answered from a level, by the name of the key.',
    'cache',
    'name',
    'level',
    'stale',
  ),
  sluice_cache_misses_total: counter('Lookups that no level could answer.', 'cache', 'name'),
  sluice_cache_fetch_duration_seconds: {
    type: 'histogram',
    help: 'How long fetches took, by how they ended.',
    labels: ['cache', 'name', 'outcome'],
    buckets: latencyBuckets,
  },
  sluice_cache_shared_flights_total: counter('Lookups that shared the fetch of another.', 'cache', 'name'),
  sluice_cache_refused_fetches_total: counter('Fetches whose turn did not come in time.', 'cache', 'name'),
  sluice_cache_skipped_values_total: counter(
    'Values that were not kept or could not be read, by reason.',
    'cache',
    'name',
    'reason',
  ),
  sluice_cache_invalidations_total: counter(
    'Invalidated scopes: sent, received, recovered after lost messages, or queued while Redis was away.',
    'cache',
    'way',
  ),
  sluice_cache_unproven_total: counter(
    'Times at which all entries became only stale, because the log of invalidations was lost or its server changed.',
    'cache',
    'reason',
  ),
  sluice_cache_warmed_keys_total: counter('Keys fetched again after a wipe, by outcome.', 'cache', 'outcome'),
  sluice_cache_memory_entries: gauge('Entries in the first level.', 'cache'),
  sluice_cache_memory_bytes: gauge('Estimated bytes in the first level.', 'cache'),
  sluice_cache_redis_up: gauge('1 while Redis answers, else 0. None for a cache in process only.', 'cache'),
} as const satisfies MetricTable

/** @public The test of `docs/metrics.md` finds it by its name. */
export const cacheMetricTable: MetricTable = table

/**
 * The metrics of a cache, labelled with its name and the names of keys.
 *
 * @example prometheusMetrics(register, [cacheMetrics(cache)])
 */
export function cacheMetrics(cache: Cache): PartMetrics {
  const label = cache.name
  return partMetrics(table, (reporter) => {
    const hits = reporter.counter('sluice_cache_hits_total')
    const misses = reporter.counter('sluice_cache_misses_total')
    const fetches = reporter.histogram('sluice_cache_fetch_duration_seconds')
    const shared = reporter.counter('sluice_cache_shared_flights_total')
    const refused = reporter.counter('sluice_cache_refused_fetches_total')
    const skipped = reporter.counter('sluice_cache_skipped_values_total')
    const invalidations = reporter.counter('sluice_cache_invalidations_total')
    const unproven = reporter.counter('sluice_cache_unproven_total')
    const warmed = reporter.counter('sluice_cache_warmed_keys_total')
    reporter.gauge('sluice_cache_memory_entries', (set) => set(cache.stats().memory.entries, label))
    reporter.gauge('sluice_cache_memory_bytes', (set) => set(cache.stats().memory.bytes, label))
    reporter.gauge('sluice_cache_redis_up', (set) => {
      const { redis } = cache.stats()
      if (redis !== 'none') set(redis === 'up' ? 1 : 0, label)
    })
    return [
      cache.on('hit', ({ name, level, stale }) => hits(1, label, name, level, String(stale))),
      cache.on('missed', ({ name }) => misses(1, label, name)),
      cache.on('fetched', ({ name, tookMs, error }) =>
        fetches(tookMs / 1000, label, name, error === undefined ? 'ok' : 'error'),
      ),
      cache.on('shared', ({ name }) => shared(1, label, name)),
      cache.on('refused', ({ name }) => refused(1, label, name)),
      cache.on('skipped', ({ name, reason }) => skipped(1, label, name, reason)),
      cache.on('invalidated', ({ way, scopes }) => invalidations(scopes, label, way)),
      cache.on('proofLost', ({ reason }) => unproven(1, label, reason)),
      cache.on('warmed', (result) => {
        warmed(result.warmed, label, 'warmed')
        warmed(result.failed, label, 'failed')
        warmed(result.left, label, 'left')
      }),
    ]
  })
}
