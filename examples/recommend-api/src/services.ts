import { Counter, Histogram, Registry } from 'prom-client'
import { createLimiter, type Limiter, limiterMetrics } from 'sluice'
import { breakerMetrics } from 'sluice/breaker'
import { type Cache, cacheMetrics, createCache } from 'sluice/cache'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'
import type { Database } from './database.ts'
import { recountMandatory } from './mandatory-cap.ts'
import { readPolicy } from './policy.ts'
import { type CallModel, type Scoring, scoring } from './scoring.ts'
import type { Settings } from './settings.ts'

/** The dependencies of the routes. One Redis handle serves all parts. */
export interface Services {
  readonly settings: Settings
  readonly database: Database
  readonly cache: Cache
  readonly limiter: Limiter
  readonly scoring: Scoring
  readonly registry: Registry
  /** How long decisions take, in seconds. */
  readonly latency: Histogram
  readonly trace: (decision: object) => void
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly redis: RedisClient
  readonly database: Database
  readonly settings: Settings
  readonly callModel: CallModel
  readonly env?: Readonly<Record<string, string | undefined>>
  /** How long a decision may take. 500 ms by default. */
  readonly deadlineMs?: number
  /** Receives the decisions that are traced. */
  readonly trace?: (decision: object) => void
}

export async function startServices(options: ServiceOptions): Promise<Services> {
  const { database, settings } = options
  const redis = openRedis(options.redis, { service: 'recommend-api' })
  const cache = await createCache({ redis })
  const limiter: Limiter = await createLimiter({
    policy: await readPolicy(settings),
    redis,
    recount: { mandatory: recountMandatory(database) },
    deadline: options.deadlineMs ?? 500,
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  const models = scoring(options.callModel, settings)
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [
    limiterMetrics(limiter),
    cacheMetrics(cache),
    breakerMetrics(models.breakers),
  ])
  // Under the metric names that dashboards of the original service use.
  const latency = new Histogram({
    name: 'decisionFlowExecutionLatency',
    help: 'Time of a whole decision, in seconds.',
    labelNames: ['tenant'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'scoringModelFailureTotal',
    help: 'Calls of scoring models that failed, by model key.',
    labelNames: ['model'],
    registers: [registry],
  })
  const stopCounting = models.breakers.on('failed', ({ key }) => failures.inc({ model: key }))
  return {
    ...{ settings, database, cache, limiter, scoring: models, registry, latency },
    trace: options.trace ?? ((decision) => console.log(JSON.stringify(decision))),
    async close() {
      stopCounting()
      metrics.close()
      await Promise.all([cache.close(), limiter.close()])
      await redis.close()
    },
  }
}
