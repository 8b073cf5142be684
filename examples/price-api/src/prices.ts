import { setTimeout as sleep } from 'node:timers/promises'
import { type Cache, type CacheKey, type CacheResult, createCache } from 'sluice/cache'

/** How long what was read from the database answers for others while Redis is away. */
const outageTtl = '5s'

/** Reads what the aggregator wrote, and from the database what is missing. */
export class Prices {
  readonly #cache: Cache
  /** In this process only, for outages of Redis: one query in five seconds for each key that is asked for. */
  readonly #local: Cache
  readonly #redisDeadlineMs: number
  #isUp: boolean

  private constructor(cache: Cache, local: Cache, redisDeadlineMs: number) {
    this.#cache = cache
    this.#local = local
    this.#redisDeadlineMs = redisDeadlineMs
    this.#isUp = cache.stats().redis === 'up'
    cache.on('redisChanged', ({ state }) => {
      this.#isUp = state === 'up'
    })
  }

  static async open(cache: Cache, redisDeadlineMs: number): Promise<Prices> {
    return new Prices(cache, await createCache({ name: 'outage' }), redisDeadlineMs)
  }

  /**
   * While Redis is away everything comes from the database and is marked stale: the aggregator cannot write, so
   * processes may disagree. Should the database be away too, or overloaded, it is what this process read last.
   */
  async read<T>(key: CacheKey, fetch: () => Promise<T>): Promise<CacheResult<T>> {
    if (this.#isUp) {
      const answer = await this.#cache.lookup(key, fetch)
      // For what was fetched, Redis may not have had it, or not have answered.
      if (this.#isUp && (answer.from !== 'fetch' || (await this.#isAnswering()))) return answer
    }
    const answer = await this.#local
      .lookup(key, fetch, { ttl: outageTtl, negativeTtl: outageTtl })
      .catch(async (error) => (await this.#cache.get<T>(key)) ?? Promise.reject(error))
    return { ...answer, stale: true, freshMs: 0 }
  }

  async #isAnswering(): Promise<boolean> {
    const health = this.#cache.health().then(({ ready }) => ready)
    return Promise.race([health, sleep(this.#redisDeadlineMs, false, { ref: false })])
  }

  close(): Promise<void> {
    return this.#local.close()
  }
}
