import { type Collection, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { createLimiter, type Limiter, limiterMetrics } from 'sluice'
import { mongoPolicy } from 'sluice/mongodb'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'

/** The document of the original design, one for each service. */
export interface RateLimits {
  readonly _id: string
  readonly last_updated: Date
  readonly general_rate_limit: Readonly<Record<string, number>>
  readonly custom_rate_limits: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** The collection that holds the rate limits of all services. */
export function openRateLimits(url: string, database: string): Opened {
  // An unreachable server is noticed soon; the next attempt waits for it again.
  const mongo = new MongoClient(url, { serverSelectionTimeoutMS: 1000, heartbeatFrequencyMS: 500 })
  return { rateLimits: mongo.db(database).collection('rate_limits'), close: () => mongo.close() }
}
export interface Opened {
  readonly rateLimits: Collection<RateLimits>
  close(): Promise<void>
}

/** The dependencies of the routes. */
export interface Services {
  readonly limiter: Limiter
  readonly registry: Registry
  /** By API key: the customer who pays for it. */
  readonly premiumKeys: ReadonlyMap<string, string>
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly redis: RedisClient
  readonly rateLimits: Collection<RateLimits>
  readonly premiumKeys?: ReadonlyMap<string, string>
  /** How often to read `last_updated`. 30 s by default. */
  readonly pollMs?: number
  /** How long a decision may take. 500 ms by default. */
  readonly deadlineMs?: number
}

export async function startServices(options: ServiceOptions): Promise<Services> {
  const { rateLimits, premiumKeys = new Map(), pollMs = 30_000 } = options
  const redis = openRedis(options.redis, { service: 'image-service' })
  const limiter = await createLimiter({
    policy: mongoPolicy(rateLimits, { service: 'image-service', poll: pollMs }),
    redis,
    deadline: options.deadlineMs ?? 500,
  })
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [limiterMetrics(limiter)])
  return {
    ...{ limiter, registry, premiumKeys },
    async close() {
      metrics.close()
      await limiter.close()
      await redis.close()
    },
  }
}
