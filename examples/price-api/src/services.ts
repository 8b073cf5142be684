import { Registry } from 'prom-client'
import { createLimiter, filePolicy, type Limiter, type LimiterOptions, limiterMetrics } from 'sluice'
import {
  type Cache,
  type CacheOptions,
  cacheMetrics,
  createCache,
  createFreshness,
  type Freshness,
  freshnessMetrics,
} from 'sluice/cache'
import { createPresence, type Presence, presenceMetrics } from 'sluice/presence'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'
import type { Database } from './database.ts'

/** The dependencies of the routes and the producer. One Redis handle serves all parts. */
export interface Services {
  readonly database: Database
  readonly cache: Cache
  readonly limiter: Limiter
  readonly presence: Presence
  readonly freshness: Freshness
  readonly registry: Registry
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly redis: RedisClient
  readonly database: Database
  readonly policy?: LimiterOptions['policy']
  readonly cache?: CacheOptions
}

export async function startServices({
  redis: client,
  database,
  policy,
  cache: cacheOptions,
}: ServiceOptions): Promise<Services> {
  const redis = openRedis(client, { service: 'price-api' })
  const cache = await createCache({
    redis,
    // After a wipe the most used prices are fetched again automatically, within the two minutes that the original
    // requires.
    fetchers: { price: ([assetId]) => database.price(String(assetId)) },
    warmUp: { top: 200, within: '2m', concurrency: 8 },
    ...cacheOptions,
  })
  const limiter = await createLimiter({
    policy: policy ?? filePolicy(new URL('../sluice.yaml', import.meta.url).pathname),
    redis,
  })
  const presence = await createPresence({ redis })
  const freshness = await createFreshness({ redis, sources: ['exchange'] })
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [
    limiterMetrics(limiter),
    cacheMetrics(cache),
    presenceMetrics(presence),
    freshnessMetrics(freshness),
  ])
  return {
    ...{ database, cache, limiter, presence, freshness, registry },
    async close() {
      metrics.close()
      await Promise.all([cache.close(), limiter.close(), presence.close(), freshness.close()])
      await redis.close()
    },
  }
}
