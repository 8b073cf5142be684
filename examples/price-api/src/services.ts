import { Registry } from 'prom-client'
import { createLimiter, type Limiter, type LimiterOptions, limiterMetrics } from 'sluice'
import { type Cache, cacheMetrics, createCache, createFreshness, type Freshness, freshnessMetrics } from 'sluice/cache'
import { createPresence, type Presence, presenceMetrics } from 'sluice/presence'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'
import type { Database } from './database.ts'
import { Prices } from './prices.ts'
import { fetchToml } from './toml.ts'

/** The dependencies of the routes. One Redis handle serves all parts. */
export interface Services {
  readonly database: Database
  readonly cache: Cache
  readonly prices: Prices
  readonly limiter: Limiter
  readonly presence: Presence
  readonly freshness: Freshness
  readonly registry: Registry
  readonly fetchToml: typeof fetchToml
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly redis: RedisClient
  readonly database: Database
  /** Data sources that should report. */
  readonly sources?: readonly string[]
  readonly policy: NonNullable<LimiterOptions['policy']>
  readonly fetchToml?: typeof fetchToml
  /**
   * How long Redis may take for a decision (200 ms) or a read (80 ms). What takes longer is done without it. A decision
   * has more time, as one that is late because this process is busy is refused.
   */
  readonly redisDeadlineMs?: number
}

export async function startServices({ redis: client, database, ...more }: ServiceOptions): Promise<Services> {
  const redis = openRedis(client, { service: 'price-api' })
  const { redisDeadlineMs = 80 } = more
  const cache = await createCache({ redis, redisDeadline: redisDeadlineMs })
  const prices = await Prices.open(cache, redisDeadlineMs)
  const limiter = await createLimiter({ policy: more.policy, redis, deadline: more.redisDeadlineMs ?? 200 })
  const presence = await createPresence({ redis })
  const freshness = await createFreshness({ redis, sources: more.sources ?? [] })
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [
    limiterMetrics(limiter),
    cacheMetrics(cache),
    presenceMetrics(presence),
    freshnessMetrics(freshness),
  ])
  return {
    ...{ database, cache, prices, limiter, presence, freshness, registry },
    fetchToml: more.fetchToml ?? fetchToml,
    async close() {
      metrics.close()
      await Promise.all([prices.close(), cache.close(), limiter.close(), presence.close(), freshness.close()])
      await redis.close()
    },
  }
}
