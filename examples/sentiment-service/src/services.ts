import { Registry } from 'prom-client'
import { createLimiter, type Limiter, limiterMetrics } from 'sluice'
import { mongoPolicy } from 'sluice/mongodb'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'
import type { Policies } from './policies.ts'

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
  readonly policies: Policies
  readonly premiumKeys?: ReadonlyMap<string, string>
  /** How often to check for a new policy where MongoDB has no change streams. 30 s by default. */
  readonly pollMs?: number
  /** How long a decision may take. 500 ms by default. */
  readonly deadlineMs?: number
}

export async function startServices(options: ServiceOptions): Promise<Services> {
  const { policies, premiumKeys = new Map(), pollMs = 30_000 } = options
  const redis = openRedis(options.redis, { service: 'sentiment-service' })
  const limiter = await createLimiter({
    policy: mongoPolicy(policies, { service: 'sentiment-service', poll: pollMs }),
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
