import type { RedisClient } from '../../redis/client.ts'
import { inside, type RedisHandle } from '../../redis/handle.ts'
import { type RedisOptions, type ResolvedRedisOptions, resolveRedisOptions } from '../../redis/redis-options.ts'
import { SharedRedis } from '../../redis/shared-redis.ts'
import { type InsideRedis } from '../../redis/use-redis.ts'
import { ProcessReports } from '../../reports/process-reports.ts'
import { RedisStore } from './redis-store.ts'

/**
 * Opens connections like a client's, for all parts of Sluice to share. The client itself, of ioredis or node-redis
 * (standalone, Sentinel or Cluster), is not used. Sockets are opened when a part needs them and closed after the last
 * part.
 *
 * @example
 * const redis = openRedis(new Redis('redis://localhost'), { service: 'shop' })
 * const limiter = await createLimiter({ limits: { rpm: 100 }, redis })
 * await limiter.close()
 * await redis.close()
 */
export function openRedis(client: RedisClient, options: RedisOptions = {}): RedisHandle {
  const resolved = resolveRedisOptions(options)
  return new OpenRedis(new SharedRedis(client, resolved.connection), resolved)
}

class OpenRedis implements RedisHandle {
  readonly service: string
  readonly prefix: string
  readonly [inside]: InsideRedis
  readonly #redis: SharedRedis
  readonly #reports: ProcessReports | undefined
  #store: RedisStore | undefined

  constructor(redis: SharedRedis, { service, prefix, reports }: ResolvedRedisOptions) {
    this.service = service ?? 'default'
    this.prefix = prefix
    this.#redis = redis
    this.#reports = reports && new ProcessReports(redis, service, prefix, reports.actions)
    this[inside] = {
      redis,
      use: () => redis.use(),
      store: () => {
        this.#store ??= new RedisStore(redis, prefix)
        return this.#store
      },
      report: (part) => this.#reports?.add(part) ?? (async () => {}),
    }
  }

  async close(): Promise<void> {
    await this.#reports?.close()
    // Limiters that still use it go on until they are closed.
    if (this.#store?.isUsed === false) await this.#store.close()
    await this.#redis.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
