import { Counter, Histogram, Registry } from 'prom-client'
import { createLimiter, type Limiter, limiterMetrics } from 'sluice'
import { breakerMetrics } from 'sluice/breaker'
import { type Cache, cacheMetrics, createCache } from 'sluice/cache'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'
import type { Database } from './data/database.ts'
import type { EnrichmentSource } from './data/enrichment.ts'
import { ReadData } from './data/read-data.ts'
import { recountMandatory } from './decide/mandatory-cap.ts'
import { type CallModel, createScoring, type Scoring } from './decide/scoring.ts'
import { readPolicy } from './policy.ts'
import type { Settings } from './settings.ts'
import type { Tracing } from './tracing.ts'

/** The dependencies of the routes. One Redis handle serves all parts. */
export interface Services {
  readonly settings: Settings
  readonly database: Database
  readonly cache: Cache
  readonly data: ReadData
  readonly enrichment: readonly EnrichmentSource[]
  readonly limiter: Limiter
  readonly scoring: Scoring
  readonly tracing: Tracing
  readonly registry: Registry
  /** Records how long a decision took. */
  observe(ms: number): void
  close(): Promise<void>
}

export interface ServiceOptions {
  /** In memory when left out, which suits a single instance. */
  readonly redis?: RedisClient
  readonly database: Database
  readonly settings: Settings
  readonly enrichment: readonly EnrichmentSource[]
  readonly callModel: CallModel
  readonly tracing: Tracing
  /** Has `RATE_LIMIT_TIER`. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** How long the limiter and the cache may wait for Redis. 500 ms by default. */
  readonly deadlineMs?: number
}

export async function startServices(options: ServiceOptions): Promise<Services> {
  const { database, settings, enrichment, tracing } = options
  const redis = options.redis && openRedis(options.redis, { service: 'recommend-api' })
  // Five thousand offers with their creatives are a few megabytes; compressed, a tenth of that in Redis.
  const size = { maxValueBytes: 16 * 2 ** 20, compressBytes: 64 * 2 ** 10, memory: { maxBytes: 256 * 2 ** 20 } }
  const deadline = options.deadlineMs ?? 500
  const cache = await createCache({ ...(redis && { redis, redisDeadline: deadline }), ...size })
  const limiter: Limiter = await createLimiter({
    policy: await readPolicy(settings),
    ...(redis && { redis }),
    recount: { mandatory: recountMandatory(database) },
    deadline,
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  const scoring = createScoring(options.callModel, settings)
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [
    limiterMetrics(limiter),
    cacheMetrics(cache),
    breakerMetrics(scoring.breakers),
  ])
  // Under the metric names that dashboards of the original service use.
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name, help, buckets, registers: [registry] })
  const milliseconds = [5, 10, 25, 50, 100, 250, 500, 1000]
  const latencyMs = histogram('decisionLatencyMs', 'Time of a whole decision, in milliseconds.', milliseconds)
  const seconds = milliseconds.map((ms) => ms / 1000)
  const latency = histogram('decisionFlowExecutionLatency', 'Time of a whole decision, in seconds.', seconds)
  const failures = new Counter({
    name: 'scoringModelFailureTotal',
    help: 'Calls of scoring models that failed, by model key.',
    labelNames: ['model'],
    registers: [registry],
  })
  const stopCounting = scoring.breakers.on('failed', ({ key }) => failures.inc({ model: key }))
  return {
    ...{ settings, database, cache, enrichment, limiter, scoring, tracing, registry },
    data: new ReadData(cache, database, settings),
    observe(ms) {
      latencyMs.observe(ms)
      latency.observe(ms / 1000)
    },
    async close() {
      stopCounting()
      metrics.close()
      await Promise.all([cache.close(), limiter.close()])
      await redis?.close()
    },
  }
}
