import type { Clock } from '../core/clock.ts'
import { type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { every } from '../runtime/every.ts'
import { gauge } from '../runtime/metric-rows.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Freshness, SourceFreshness } from './freshness.ts'

const table = {
  sluice_freshness_stale: gauge('1 for a data source whose producer is late, else 0.', 'source'),
  sluice_freshness_stale_seconds: gauge(
    'For how long a data source has been stale; 0 while it is fresh. None for one that never reported.',
    'source',
  ),
  sluice_freshness_age_seconds: gauge('How long ago the producer of a data source last reported.', 'source'),
} as const satisfies MetricTable

/** @public The test of `docs/metrics.md` finds it by its name. */
export const freshnessMetricTable: MetricTable = table

/** The metrics of data sources, read from Redis every `everyMs`. While Redis cannot be read, there are none. */
export function freshnessMetrics(
  freshness: Pick<Freshness, 'read'>,
  everyMs = 5000,
  clock: Clock = systemClock(),
): PartMetrics {
  return partMetrics(table, (reporter) => {
    let last: readonly SourceFreshness[] = []
    const refresh = (): void => {
      freshness.read().then(
        (sources) => {
          last = sources
        },
        // If they were kept, the last figures would show everything as fresh during the whole outage.
        () => {
          last = []
        },
      )
    }
    refresh()
    const stop = every(everyMs, clock, refresh)
    reporter.gauge('sluice_freshness_stale', (set) => {
      for (const { source, stale } of last) set(stale ? 1 : 0, source)
    })
    reporter.gauge('sluice_freshness_stale_seconds', (set) => {
      for (const { source, staleMs } of last) if (Number.isFinite(staleMs)) set(staleMs / 1000, source)
    })
    reporter.gauge('sluice_freshness_age_seconds', (set) => {
      for (const { source, ageMs } of last) if (Number.isFinite(ageMs)) set(ageMs / 1000, source)
    })
    return [stop]
  })
}
