import { type Cache, type CacheKey, defineKeys, type FetchContext, key } from 'sluice/cache'
import type { Settings } from '../settings.ts'
import type { Database } from './database.ts'
import type { EnrichmentSource } from './enrichment.ts'
import type { Entity, Kind } from './entities.ts'

/** Everything that is cached. After a change through the API, `cache.invalidate` makes it visible at once. */
export const keys = defineKeys({
  active: key('active', ['tenant', 'kind'], { ttl: '300s' }),
  // The fields are part of the key, so that a changed document does not find what was fetched for the former one.
  enrich: key('enrich', ['tenant', 'customer', 'schemaId', 'fields'], { ttl: '60s' }),
})

/** Reads from the cache, and what it does not have from PostgreSQL. */
export class ReadData {
  readonly #cache: Cache
  readonly #database: Database
  readonly #settings: Settings

  constructor(cache: Cache, database: Database, settings: Settings) {
    this.#cache = cache
    this.#database = database
    this.#settings = settings
  }

  active<K extends Kind>(tenant: string, kind: K): Promise<readonly Entity<K>[]> {
    const { ttl, maxActiveOffers } = this.#settings
    const seconds = kind === 'offers' ? ttl.offers : kind === 'guardrails' ? ttl.guardrails : ttl.policies
    // A guardrail that is not loaded would let through what it should stop.
    const limit = kind === 'offers' ? maxActiveOffers : null
    return this.#cached(keys.active(tenant, kind), seconds, (context) =>
      // A replica may lag behind a change that was just made.
      this.#database.active(tenant, kind, limit, { fromPrimary: context?.afterInvalidation ?? false }),
    )
  }

  /** What all sources know about a customer, by prefix and field. */
  async enrich(
    tenant: string,
    customer: string,
    sources: readonly EnrichmentSource[],
  ): Promise<Readonly<Record<string, unknown>>> {
    const found = await Promise.all(
      sources.map(async ({ schemaId, fields, cacheTtlSeconds, prefix }) => {
        const values = await this.#cached(
          keys.enrich(tenant, customer, schemaId, fields.join(',')),
          cacheTtlSeconds,
          () => this.#database.customerFields(tenant, customer, schemaId, fields),
        )
        return Object.entries(values).map(([field, value]) => [`${prefix}.${field}`, value] as const)
      }),
    )
    return Object.fromEntries(found.flat())
  }

  #cached<T>(key: CacheKey, seconds: number, fetch: (context?: FetchContext) => Promise<T>): Promise<T> {
    if (seconds === 0) return fetch()
    return this.#cache.getOrFetch(key, fetch, { ttl: `${seconds}s`, staleIfError: '10m' })
  }
}
