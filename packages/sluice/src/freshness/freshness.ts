import { checkOptionNames } from '../core/check-options.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { decodeKey, encodeKey } from '../core/key.ts'
import type { RedisHandle } from '../redis/handle.ts'
import { namespaceOf } from '../redis/namespaces.ts'
import { useRedis } from '../redis/use-redis.ts'
import { readReports, report } from './scripts.gen.ts'

/** How fresh one data source is. */
export interface SourceFreshness {
  readonly source: string
  readonly stale: boolean
  /** For how long it has been stale; 0 while it is fresh. */
  readonly staleMs: number
  /** How long ago its producer last reported; `Infinity` for a source that never did. */
  readonly ageMs: number
}

export interface FreshnessOptions {
  readonly redis: RedisHandle
  /** The cache whose data this is about, where a service has several. */
  readonly name?: string
  /** Data sources that should report. One that never did is listed as stale, instead of missing. */
  readonly sources?: readonly string[]
  /** How long Redis may take to answer; 500 ms by default. */
  readonly redisDeadline?: Duration
}

/** Gauges `health:<source>`: producers write them, `/ready` and metrics read them. */
export interface Freshness {
  /** Called by a producer: the data of a source is fresh, for `ttl` from now. */
  report(source: string, ttl: Duration): Promise<void>
  /** All sources that ever reported or should, by name. Rejects when Redis does not answer. */
  read(): Promise<SourceFreshness[]>
  /** Removes a source that no longer exists; otherwise it would stay stale. One that should report stays listed. */
  forget(source: string): Promise<void>
  close(): Promise<void>
}

/**
 * Reports which data source is stale, and for how long, by the clock of Redis.
 *
 * @example
 * const freshness = createFreshness({ redis, sources: ['binance'] })
 * await freshness.report('binance', '30s') // in the producer, with each batch
 * const late = (await freshness.read()).filter((source) => source.stale) // in /ready
 */
export function createFreshness(options: FreshnessOptions): Freshness {
  checkOptionNames('createFreshness', options, ['redis', 'name', 'sources', 'redisDeadline'])
  const { name = 'default', sources = [], redisDeadline = '500ms' } = options
  const withinMs = parseDuration(redisDeadline, 'createFreshness.redisDeadline')
  const { redis, service, prefix, release } = useRedis(options.redis, 'createFreshness.redis')
  const keys = [`${namespaceOf('cache', service, prefix, name)}#health`]
  return {
    async report(source, ttl) {
      checkSource('report', source)
      const ttlUs = parseDuration(ttl, 'report ttl') * 1000
      await redis.runScript({ script: report, keys, args: [encodeKey(source), String(ttlUs)], withinMs })
    },
    async read() {
      const { reply, nowUs } = await redis.runScript({ script: readReports, keys, withinMs })
      const flat = reply.read() as string[]
      const found = new Map<string, SourceFreshness>()
      for (const source of sources) found.set(source, { source, stale: true, staleMs: Infinity, ageMs: Infinity })
      for (let i = 0; i < flat.length; i += 2) {
        const source = String(decodeKey(flat[i]!)[0])
        found.set(source, freshnessOf(source, flat[i + 1]!, nowUs))
      }
      return [...found.values()].sort((a, b) => (a.source < b.source ? -1 : 1))
    },
    async forget(source) {
      checkSource('forget', source)
      await redis.command(['HDEL', keys[0]!, encodeKey(source)], { key: keys[0], withinMs })
    },
    close: release,
  }
}

function checkSource(call: string, source: unknown): void {
  if (typeof source !== 'string' || source === '') throw invalidOption(`${call} source`, source, 'use a name')
}

function freshnessOf(source: string, text: string, nowUs: number): SourceFreshness {
  const [reportedUs = 0, untilUs = 0] = text.split(' ').map(Number)
  const staleMs = Math.max(0, (nowUs - untilUs) / 1000)
  return { source, stale: staleMs > 0, staleMs, ageMs: Math.max(0, (nowUs - reportedUs) / 1000) }
}
