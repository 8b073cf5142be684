import { type Collection, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { createLimiter, type Limiter, limiterMetrics, type PolicyDocument } from 'sluice'
import { mongoPolicy } from 'sluice/mongodb'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis, type RedisClient } from 'sluice/redis'
import { type Env, SettingError, withoutPassword } from './env.ts'
import type { Log } from './main.ts'

/** The rate limits of one service, as its document in MongoDB has them. */
export interface RateLimits {
  readonly _id: string
  readonly last_updated: string | Date
  readonly general_rate_limit: Readonly<Record<string, number>>
  readonly custom_rate_limits: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface MongoLimits {
  readonly limiter: Limiter
  readonly registry: Registry
  readonly rateLimits: Collection<RateLimits>
  /** Ready without Redis too: then requests are let through, and `exact` is false. */
  ready(): Promise<{ readonly ready: true; readonly exact: boolean }>
  close(): Promise<void>
}

/**
 * A limiter whose limits are in MongoDB, in the collection `rate_limits` that services share. `initial` is put there
 * by the first replica that ever starts, and is in force while MongoDB cannot be reached at start.
 */
export async function openMongoLimits(
  initial: RateLimits,
  { env, log, redis }: { readonly env: Env; readonly log: Log; readonly redis: RedisClient },
): Promise<MongoLimits> {
  const { _id: service, ...rest } = initial
  const url = env.required('MONGODB_URL', 'use mongodb://host:27017')
  if (!/^mongodb(\+srv)?:\/\//.test(url))
    throw new SettingError(`MONGODB_URL is ${withoutPassword(url)}: use mongodb://host:27017`)
  // An unreachable server is noticed soon; the next attempt waits for it again.
  const mongo = new MongoClient(url, { serverSelectionTimeoutMS: 1000, heartbeatFrequencyMS: 500 })
  const database = env.text('MONGODB_DATABASE', 'flow')
  if (!/^[\w-]{1,63}$/.test(database)) throw new SettingError(`MONGODB_DATABASE is ${database}: use letters and digits`)
  const rateLimits = mongo.db(database).collection<RateLimits>('rate_limits')
  let timer: NodeJS.Timeout | undefined
  // Until the first attempt succeeds: after that the driver connects again by itself.
  const connect = async (): Promise<void> => {
    try {
      await mongo.connect()
      const first = { $setOnInsert: { ...rest, last_updated: new Date() } }
      await rateLimits.updateOne({ _id: service }, first, { upsert: true })
    } catch (error) {
      if (timer === undefined) log('mongodb_unavailable', { error: (error as Error).message })
      timer = setTimeout(connect, 1000)
    }
  }
  await connect()
  const handle = openRedis(redis, { service })
  const limiter = await createLimiter({
    policy: mongoPolicy(rateLimits, { service, poll: env.whole('POLL_MS', 30_000, { least: 1 }) }),
    fallbackPolicy: initial as unknown as PolicyDocument,
    redis: handle,
    deadline: env.whole('LIMITER_DEADLINE_MS', 500, { least: 1 }),
  })
  limiter.on('policyLoaded', ({ version }) => log('rate_limits_loaded', { version }))
  limiter.on('policyRejected', ({ error }) => log('rate_limits_rejected', { error: error.message }))
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [limiterMetrics(limiter)])
  return {
    ...{ limiter, registry, rateLimits },
    async ready() {
      const { ready, warnings } = await limiter.health()
      return { ready: true, exact: ready, warnings, rateLimits: limiter.policy.status }
    },
    async close() {
      clearTimeout(timer)
      metrics.close()
      await limiter.close()
      await handle.close()
      await mongo.close()
    },
  }
}
