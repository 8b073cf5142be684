import { Registry } from 'prom-client'
import { createLimiter, filePolicy, type Limiter, limiterMetrics, type PolicyDocument, type PolicySource } from 'sluice'
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
import { openRedis, type RedisClient, redisStore } from 'sluice/redis'
import { partReport, redisReports, startReports } from 'sluice/reports'
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
  readonly policy?: PolicyDocument | PolicySource
  readonly cache?: CacheOptions
}

export async function startServices({
  redis: client,
  database,
  policy,
  cache: cacheOptions,
}: ServiceOptions): Promise<Services> {
  const redis = openRedis(client)
  const cache = await createCache({
    redis,
    namespace: 'price-api',
    // After a wipe the most used prices are fetched again automatically, within the two minutes that the original
    // requires.
    fetchers: { price: ([assetId]) => database.price(String(assetId)) },
    warmUp: { top: 200, within: '2m', concurrency: 8 },
    ...cacheOptions,
  })
  const limiter = await createLimiter({
    policy: policy ?? filePolicy(new URL('../sluice.yaml', import.meta.url).pathname),
    store: redisStore(redis),
  })
  const presence = await createPresence({ redis, namespace: 'price-api' })
  const freshness = createFreshness({ redis, namespace: 'price-api', sources: ['exchange'] })
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [
    limiterMetrics(limiter),
    cacheMetrics(cache),
    presenceMetrics(presence),
    freshnessMetrics(freshness),
  ])
  const reports = startReports({
    service: 'price-api',
    to: redisReports(redis),
    parts: [partReport('limiter', limiter), partReport('cache', cache, 'prices'), partReport('presence', presence)],
  })
  return {
    ...{ database, cache, limiter, presence, freshness, registry },
    async close() {
      metrics.close()
      await reports.close()
      await Promise.all([cache.close(), limiter.close(), presence.close(), freshness.close()])
      await redis.close()
    },
  }
}
