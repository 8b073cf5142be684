import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import { type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import { counter, gauge } from '../runtime/metric-rows.ts'
import { Breaker } from './breaker.ts'
import type { Breakers } from './breakers.ts'
import { breakerStates } from './circuit.ts'

const table = {
  sluice_breaker_calls_total: counter(
    'Calls by how they ended: succeeded, failed, rejected (not made) or cancelled (by their own caller).',
    'breaker',
    'outcome',
  ),
  sluice_breaker_failures_total: counter(
    'Calls that failed, by key; keys beyond the first hundred are counted together as "other".',
    'breaker',
    'key',
  ),
  sluice_breaker_state: gauge(
    'How many breakers of a key are in each state: one is in the present state, and those of "other" add up.',
    'breaker',
    'key',
    'state',
  ),
  sluice_breaker_changes_total: counter('Changes of state, by the new state.', 'breaker', 'state'),
  sluice_breaker_fallbacks_total: counter(
    'Answers of fallbacks, by the reason: open (the call was not made) or failed.',
    'breaker',
    'reason',
  ),
} as const satisfies MetricTable

/** The metrics of a breaker, or of a set of them. */
export const breakerMetricTable: MetricTable = table

export interface BreakerMetricsOptions {
  /** How many keys become separate label values. 100 by default. */
  readonly maxKeys?: number
}

/**
 * The metrics of a breaker, or of a set of them.
 *
 * @example
 * prometheusMetrics(register, [breakerMetrics(breakers)])
 */
export function breakerMetrics(source: Breaker | Breakers, options: BreakerMetricsOptions = {}): PartMetrics {
  checkOptionNames('breakerMetrics', options, ['maxKeys'])
  const { maxKeys = 100 } = options
  checkWhole('breakerMetrics.maxKeys', maxKeys, 0, 'keys')
  const name = source instanceof Breaker ? source.key : source.name
  const known = new Set<string>()
  /** Keys may come from requests, and every label value is a series that is never removed. */
  const labelOf = (key: string): string => {
    if (known.has(key)) return key
    if (known.size >= maxKeys) return 'other'
    known.add(key)
    return key
  }
  return partMetrics(table, (reporter) => {
    const calls = reporter.counter('sluice_breaker_calls_total')
    const failures = reporter.counter('sluice_breaker_failures_total')
    const changes = reporter.counter('sluice_breaker_changes_total')
    const fallbacks = reporter.counter('sluice_breaker_fallbacks_total')
    reporter.gauge('sluice_breaker_state', (set) => {
      const counts = new Map<string, Record<string, number>>()
      for (const { key, state } of [source.stats()].flat()) {
        const label = labelOf(key)
        const own = counts.get(label) ?? {}
        own[state] = (own[state] ?? 0) + 1
        counts.set(label, own)
      }
      for (const [label, own] of counts) for (const state of breakerStates) set(own[state] ?? 0, name, label, state)
    })
    return [
      source.on('called', ({ outcome }) => calls(1, name, outcome)),
      source.on('failed', ({ key }) => failures(1, name, labelOf(key))),
      source.on('stateChanged', ({ state }) => changes(1, name, state)),
      source.on('fellBack', ({ reason }) => fallbacks(1, name, reason)),
    ]
  })
}
