import { breakerStates } from '../breaker/circuit.ts'
import { checkOptionNames } from '../core/check-options.ts'
import { latencyBuckets, type MetricTable, type PartMetrics, partMetrics } from '../core/observe/metrics.ts'
import type { Limiter } from './limiter.ts'

const table = {
  sluice_decisions_total: {
    type: 'counter',
    help: 'Decisions, by the rule that decided ("none" when no rule applied), the outcome (allowed, quota, blocked, unavailable, missing-key or forbidden), and whether the store took no part.',
    labels: ['service', 'rule', 'outcome', 'degraded'],
  },
  sluice_shadow_decisions_total: {
    type: 'counter',
    help: 'What rules in shadow mode would have decided.',
    labels: ['service', 'rule', 'outcome'],
  },
  sluice_decision_duration_seconds: {
    type: 'histogram',
    help: 'Time from asking the store to the decision.',
    labels: ['service'],
    buckets: latencyBuckets,
  },
  sluice_store_round_trip_duration_seconds: {
    type: 'histogram',
    help: 'Time of one round trip to the store.',
    labels: ['service'],
    buckets: latencyBuckets,
  },
  sluice_store_batch_size: {
    type: 'histogram',
    help: 'How many asks one round trip to the store carried.',
    labels: ['service'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  sluice_store_failures_total: {
    type: 'counter',
    help: 'Failures of the store, by kind.',
    labels: ['service', 'kind'],
  },
  sluice_store_evicted_keys_total: {
    type: 'counter',
    help: 'Keys that the store has dropped to make room; a counter among them starts again from zero.',
    labels: ['service'],
  },
  sluice_store_breaker_state: {
    type: 'gauge',
    help: 'The state of the breaker before the store: 1 for the present one, 0 for the others.',
    labels: ['service', 'state'],
  },
  sluice_local_decisions_total: {
    type: 'counter',
    help: 'Decisions made without asking the store, by what made them: deny-cache or lease.',
    labels: ['service', 'rule', 'by'],
  },
  sluice_waiting: {
    type: 'gauge',
    help: 'How many wait for their turn now.',
    labels: ['service'],
    sum: true,
  },
  sluice_wait_duration_seconds: {
    type: 'histogram',
    help: 'How long waits took, by how they ended: admitted, refused or aborted.',
    labels: ['service', 'rule', 'outcome'],
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300],
  },
  sluice_recounts_total: {
    type: 'counter',
    help: 'Times a source of truth was asked, by outcome: it allowed, it denied, it failed, or a store was raised to its count.',
    labels: ['service', 'rule', 'outcome'],
  },
  sluice_lease_units_total: {
    type: 'counter',
    help: 'Units of leases: drawn ahead of use, returned unused, or stranded (neither spent nor returned in time).',
    labels: ['service', 'rule', 'fate'],
  },
  sluice_policy_info: {
    type: 'gauge',
    help: 'Always 1; the labels say which version of the policy is in force and where it came from.',
    labels: ['service', 'version', 'source'],
  },
  sluice_policy_age_seconds: {
    type: 'gauge',
    help: 'How long the version of the policy has been in force.',
    labels: ['service'],
  },
  sluice_policy_loads_total: {
    type: 'counter',
    help: 'Policies that came into force since the start.',
    labels: ['service'],
  },
  sluice_policy_load_errors_total: {
    type: 'counter',
    help: 'Documents that were refused, and times the source of the policy could not be reached.',
    labels: ['service'],
  },
  sluice_policy_stale: {
    type: 'gauge',
    help: '1 while the newest document is refused or the source cannot be reached, else 0.',
    labels: ['service'],
  },
} as const satisfies MetricTable

/** The metrics of a limiter. */
export const limiterMetricTable: MetricTable = table

const byRule = [
  'sluice_decisions_total',
  'sluice_shadow_decisions_total',
  'sluice_local_decisions_total',
  'sluice_wait_duration_seconds',
  'sluice_recounts_total',
  'sluice_lease_units_total',
] as const satisfies readonly (keyof typeof table)[]

export interface LimiterMetricsOptions {
  /** For a second limiter of the same service: reports its decisions and leaves policy and breaker to the first. */
  readonly decisionsOnly?: boolean
}

/**
 * The metrics of a limiter.
 *
 * @example
 * prometheusMetrics(register, [limiterMetrics(limiter)])
 */
export function limiterMetrics(limiter: Limiter, options: LimiterMetricsOptions = {}): PartMetrics {
  checkOptionNames('limiterMetrics', options, ['decisionsOnly'])
  const { decisionsOnly = false } = options
  const { service } = limiter.policy
  return partMetrics(table, (reporter) => {
    const decisions = reporter.counter('sluice_decisions_total')
    const shadows = reporter.counter('sluice_shadow_decisions_total')
    const duration = reporter.histogram('sluice_decision_duration_seconds')
    const failures = reporter.counter('sluice_store_failures_total')
    const local = reporter.counter('sluice_local_decisions_total')
    const recounts = reporter.counter('sluice_recounts_total')
    const waits = reporter.histogram('sluice_wait_duration_seconds')
    reporter.gauge('sluice_waiting', (set) => set(limiter.waiting, service))
    const present = (): ReadonlySet<string> => new Set(['none', ...limiter.policy.rules])
    // What is reported late of a rule that a new policy has no more would bring its series back.
    let rules = present()
    const ends = [
      limiter.on('policyLoaded', () => {
        const former = rules
        rules = present()
        for (const rule of former) if (!rules.has(rule)) for (const name of byRule) reporter.forget(name, service, rule)
      }),
      limiter.on('decided', ({ decision, tookMs }) => {
        const { rule: decider = 'none', reason, degraded, shadow } = decision
        if (rules.has(decider)) decisions(1, service, decider, reason, degraded ? 'true' : 'false')
        for (const { rule, allowed } of shadow)
          if (rules.has(rule)) shadows(1, service, rule, allowed ? 'allowed' : 'quota')
        duration(tookMs / 1000, service)
      }),
      limiter.on('storeFailed', ({ kind }) => failures(1, service, kind)),
      limiter.on('answeredLocally', ({ by, rule }) => rules.has(rule) && local(1, service, rule, by)),
      limiter.on('waited', ({ rule = 'none', outcome, waitedMs }) => {
        if (rules.has(rule)) waits(waitedMs / 1000, service, rule, outcome)
      }),
      limiter.on('recounted', ({ rule, outcome }) => rules.has(rule) && recounts(1, service, rule, outcome)),
    ]
    if (decisionsOnly) return ends

    const roundTrip = reporter.histogram('sluice_store_round_trip_duration_seconds')
    const batchSize = reporter.histogram('sluice_store_batch_size')
    const evicted = reporter.counter('sluice_store_evicted_keys_total')
    const leaseUnits = reporter.counter('sluice_lease_units_total')
    const loads = reporter.counter('sluice_policy_loads_total')
    const loadErrors = reporter.counter('sluice_policy_load_errors_total')
    let { breaker } = limiter
    reporter.gauge('sluice_store_breaker_state', (set) => {
      for (const state of breakerStates) set(state === breaker ? 1 : 0, service, state)
    })
    const status = () => limiter.policy.status
    reporter.gauge('sluice_policy_info', (set) => set(1, service, status().version, status().source))
    reporter.gauge('sluice_policy_age_seconds', (set) => set(status().ageMs / 1000, service))
    reporter.gauge('sluice_policy_stale', (set) => set(status().lastError === undefined ? 0 : 1, service))
    // The policy in force was loaded before there could be a listener.
    loads(1, service)
    // A series that begins with its first event hides that event from rate() and increase().
    loadErrors(0, service)
    evicted(0, service)
    return [
      ...ends,
      limiter.on('storeAnswered', ({ asks, tookMs }) => {
        roundTrip(tookMs / 1000, service)
        batchSize(asks, service)
      }),
      limiter.on('evicted', ({ keys }) => evicted(keys, service)),
      limiter.on('breakerChanged', ({ state }) => {
        breaker = state
      }),
      limiter.on('leased', ({ rule, drawn, returned, stranded }) => {
        if (!rules.has(rule)) return
        leaseUnits(drawn, service, rule, 'drawn')
        leaseUnits(returned, service, rule, 'returned')
        leaseUnits(stranded, service, rule, 'stranded')
      }),
      limiter.on('policyLoaded', () => loads(1, service)),
      limiter.on('policyRejected', () => loadErrors(1, service)),
    ]
  })
}
