import { type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge } from '../runtime/metric-rows.ts'
import type { Presence } from './presence.ts'

const table = {
  sluice_presence_members: gauge('Members that are connected to this process.', 'presence'),
  sluice_presence_channels: gauge('Channels that have members in this process.', 'presence'),
  sluice_presence_last_beat_seconds: gauge('How long ago this process last renewed itself in Redis.', 'presence'),
  sluice_presence_swept_processes_total: counter(
    'Processes that died and whose members this process removed.',
    'presence',
  ),
  sluice_presence_rejoins_total: counter(
    'Times at which all members of this process had to be added again.',
    'presence',
  ),
  sluice_presence_failures_total: counter('Operations that did not reach Redis.', 'presence', 'operation'),
} as const satisfies MetricTable

/** @public The test of `docs/metrics.md` finds it by its name. */
export const presenceMetricTable: MetricTable = table

/** The metrics of a presence, labelled with its name. */
export function presenceMetrics(presence: Presence): PartMetrics {
  const { name } = presence
  return partMetrics(table, (reporter) => {
    const swept = reporter.counter('sluice_presence_swept_processes_total')
    const rejoins = reporter.counter('sluice_presence_rejoins_total')
    const failures = reporter.counter('sluice_presence_failures_total')
    reporter.gauge('sluice_presence_members', (set) => set(presence.stats().members, name))
    reporter.gauge('sluice_presence_channels', (set) => set(presence.stats().channels, name))
    reporter.gauge('sluice_presence_last_beat_seconds', (set) => set(presence.stats().lastBeatMs / 1000, name))
    return [
      presence.on('swept', () => swept(1, name)),
      presence.on('rejoined', () => rejoins(1, name)),
      presence.on('failed', ({ operation }) => failures(1, name, operation)),
    ]
  })
}
