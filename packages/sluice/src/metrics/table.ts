/** One metric: everything the documentation prints about it. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  readonly buckets?: readonly number[]
}

const latencies = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

/** Every metric of a limiter. Label values are names from the policy or fixed words, never keys. */
export const metricTable: Readonly<Record<string, MetricSpec>> = {
  sluice_decisions_total: {
    type: 'counter',
    help: 'Decisions, by the rule that decided ("none" when no rule applied), the outcome (allowed, quota, unavailable or missing-key), and whether the store took no part.',
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
    buckets: latencies,
  },
  sluice_store_round_trip_duration_seconds: {
    type: 'histogram',
    help: 'Time of one round trip to the store.',
    labels: ['service'],
    buckets: latencies,
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
  sluice_breaker_state: {
    type: 'gauge',
    help: 'The state of the breaker before the store: 1 for the present one, 0 for the others.',
    labels: ['service', 'state'],
  },
  sluice_local_decisions_total: {
    type: 'counter',
    help: 'Decisions made without asking the store, by what made them: deny-cache or lease.',
    labels: ['service', 'rule', 'by'],
  },
  sluice_lease_units_total: {
    type: 'counter',
    help: 'Units of leases: drawn ahead of use, returned unused, or stranded (neither spent nor returned in time).',
    labels: ['service', 'rule', 'fate'],
  },
  sluice_policy_info: {
    type: 'gauge',
    help: 'Always 1; the labels tell which version of the policy is in force and where it came from.',
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
    help: 'Documents that were refused, and times the source of the policy was found out of reach.',
    labels: ['service'],
  },
  sluice_policy_stale: {
    type: 'gauge',
    help: '1 while the newest document is refused or the source is out of reach, else 0.',
    labels: ['service'],
  },
  sluice_egress_queue_depth: {
    type: 'gauge',
    help: 'Calls that wait to go out.',
    labels: ['egress'],
  },
  sluice_egress_wait_duration_seconds: {
    type: 'histogram',
    help: 'How long calls waited before they went out.',
    labels: ['egress'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
  },
}
