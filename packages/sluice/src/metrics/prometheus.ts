import { Counter, register as defaultRegistry, Gauge, Histogram, type Registry } from 'prom-client'
import type { Limiter } from '../limiter/limiter.ts'
import { LabelCounter } from './label-counter.ts'
import { metricTable } from './table.ts'

export { type MetricSpec, metricTable } from './table.ts'

export interface PrometheusOptions {
  /** Where the metrics are registered; the default registry of prom-client when left out. */
  readonly registry?: Registry
}

/** What waits before it goes out, as egress tells it. */
export interface EgressMetrics {
  /** How many calls wait now. */
  depth(calls: number): void
  /** One call went out after waiting. */
  waited(ms: number): void
}

/** The metrics of any number of limiters in one registry. */
export interface SluiceMetrics {
  /**
   * Counts what a limiter does, from now until the returned function is called. Of several limiters of one service, only one can tell of
   * policy and breaker: the others are watched with `decisionsOnly`.
   */
  watch(limiter: Limiter, options?: { readonly decisionsOnly?: boolean }): () => void
  /** The metrics of one egress, by its name. */
  egress(name: string): EgressMetrics
}

const states = ['closed', 'open', 'half-open'] as const

/**
 * Registers the metrics of Sluice with prom-client.
 *
 * @example
 * const metrics = prometheusMetrics()
 * metrics.watch(limiter)
 * app.get('/metrics', async (c) => c.text(await register.metrics()))
 */
export function prometheusMetrics(options: PrometheusOptions = {}): SluiceMetrics {
  const registers = [options.registry ?? defaultRegistry]
  const watched = new Set<Limiter>()

  const histogram = (name: string): Histogram<string> => {
    const { help, labels, buckets = [] } = metricTable[name]!
    return new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers })
  }
  const counter = (name: string): LabelCounter => {
    const { help, labels } = metricTable[name]!
    const sums = new LabelCounter(labels)
    new Counter({
      name,
      help,
      labelNames: [...labels],
      registers,
      collect() {
        this.reset()
        for (const { labels, value } of sums) this.inc(labels, value)
      },
    })
    return sums
  }
  const gauge = (
    name: string,
    read: (limiter: Limiter, set: (value: number, ...labels: string[]) => void) => void,
  ): void => {
    const { help, labels } = metricTable[name]!
    new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers,
      collect() {
        this.reset()
        for (const limiter of watched) read(limiter, (value, ...values) => this.labels(...values).set(value))
      },
    })
  }

  const decisions = counter('sluice_decisions_total')
  const shadows = counter('sluice_shadow_decisions_total')
  const decisionTime = histogram('sluice_decision_duration_seconds')
  const roundTripTime = histogram('sluice_store_round_trip_duration_seconds')
  const batchSize = histogram('sluice_store_batch_size')
  const failures = counter('sluice_store_failures_total')
  const local = counter('sluice_local_decisions_total')
  const leaseUnits = counter('sluice_lease_units_total')
  const loads = counter('sluice_policy_loads_total')
  const loadErrors = counter('sluice_policy_load_errors_total')
  const breakers = new Map<Limiter, (typeof states)[number]>()
  gauge('sluice_breaker_state', (limiter, set) => {
    for (const state of states)
      set(state === (breakers.get(limiter) ?? 'closed') ? 1 : 0, limiter.policy.service, state)
  })
  gauge('sluice_policy_info', ({ policy }, set) => set(1, policy.service, policy.status.version, policy.status.source))
  gauge('sluice_policy_age_seconds', ({ policy }, set) => set(policy.status.ageMs / 1000, policy.service))
  gauge('sluice_policy_stale', ({ policy }, set) => set(policy.status.lastError === undefined ? 0 : 1, policy.service))
  const egressDepth = new Gauge({
    name: 'sluice_egress_queue_depth',
    help: metricTable.sluice_egress_queue_depth!.help,
    labelNames: ['egress'],
    registers,
  })
  const egressWait = histogram('sluice_egress_wait_duration_seconds')

  return {
    watch(limiter, { decisionsOnly = false } = {}) {
      const { service } = limiter.policy
      const labels = { service }
      const ends = [
        limiter.on('decision', ({ decision, tookMs }) => {
          decisions.add(1, service, decision.rule ?? 'none', decision.reason, decision.degraded ? 'true' : 'false')
          for (const { rule, allowed } of decision.shadow) shadows.add(1, service, rule, allowed ? 'allowed' : 'quota')
          decisionTime.observe(labels, tookMs / 1000)
        }),
        limiter.on('storeFailure', ({ kind }) => failures.add(1, service, kind)),
        limiter.on('local', ({ by, rule }) => local.add(1, service, rule, by)),
      ]
      const end = (): void => {
        for (const each of ends) each()
        watched.delete(limiter)
        breakers.delete(limiter)
      }
      if (decisionsOnly) return end
      watched.add(limiter)
      // The policy in force was loaded before anybody could listen.
      loads.add(1, service)
      loadErrors.add(0, service)
      ends.push(
        limiter.on('roundTrip', ({ asks, tookMs }) => {
          roundTripTime.observe(labels, tookMs / 1000)
          batchSize.observe(labels, asks)
        }),
        limiter.on('breaker', ({ state }) => breakers.set(limiter, state)),
        limiter.on('lease', ({ rule, drawn, returned, stranded }) => {
          leaseUnits.add(drawn, service, rule, 'drawn')
          leaseUnits.add(returned, service, rule, 'returned')
          leaseUnits.add(stranded, service, rule, 'stranded')
        }),
        limiter.on('policyLoaded', () => loads.add(1, service)),
        limiter.on('policyRejected', () => loadErrors.add(1, service)),
      )
      return end
    },
    egress(name) {
      const labels = { egress: name }
      return {
        depth: (calls) => egressDepth.set(labels, calls),
        waited: (ms) => egressWait.observe(labels, ms / 1000),
      }
    },
  }
}
