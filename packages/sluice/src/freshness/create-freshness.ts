import { checkOptionNames, optionNames } from '../core/check-options.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import type { RedisHandle } from '../redis/handle.ts'
import { namespaceOf } from '../redis/namespaces.ts'
import { useRedis } from '../redis/use-redis.ts'
import type { Freshness } from './freshness.ts'
import { RedisFreshness } from './redis-freshness.ts'

export interface FreshnessOptions {
  readonly redis: RedisHandle
  /** The cache whose data this is about, where a service has several. */
  readonly name?: string
  /** Data sources that should report. One that never did is listed as stale, instead of missing. */
  readonly sources?: readonly string[]
  /** How long Redis may take to answer; 500 ms by default. */
  readonly redisDeadline?: Duration
}

const known = optionNames<FreshnessOptions>({ redis: true, name: true, sources: true, redisDeadline: true })

/**
 * Reports which data source is stale, and for how long, by the clock of Redis.
 *
 * @example
 * const freshness = await createFreshness({ redis, sources: ['binance'] })
 * await freshness.report('binance', '30s') // in the producer, with each batch
 * const late = (await freshness.read()).filter((source) => source.stale) // in /ready
 */
export async function createFreshness(options: FreshnessOptions): Promise<Freshness> {
  checkOptionNames('createFreshness', options, known)
  const { name = 'default', sources = [] } = options
  const redisDeadlineMs = parseDuration(options.redisDeadline ?? '500ms', 'createFreshness.redisDeadline')
  const { redis, service, prefix, release } = useRedis(options.redis, 'createFreshness.redis')
  const key = `${namespaceOf('cache', service, prefix, name)}#health`
  return new RedisFreshness(redis, { key, sources, redisDeadlineMs, release })
}
