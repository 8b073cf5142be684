import type { Cache } from '../cache/cache.ts'
import { type CacheKey, keyOf } from '../cache/keys/cache-key.ts'
import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption } from '../core/errors.ts'
import type { Step } from './steps.ts'

export interface LookupStepOptions<T, Found> {
  readonly key: (value: T) => CacheKey | string
  /** Fetches what the cache does not have, one value for each of these records, in their order. */
  readonly fetch: (values: readonly T[]) => Promise<readonly Found[]> | readonly Found[]
  /** The record with what was found; `Rejected` and undefined mean what they mean in a step. */
  readonly use: (value: T, found: Found) => unknown
}

/**
 * A step that looks up something for each record through a cache: one read for a batch, and one fetch for all that is
 * missing.
 *
 * @example
 * lookup(cache, {
 *   key: (order: { asset: string }) => `price ${order.asset}`,
 *   fetch: (orders) => orders.map(({ asset }) => asset.length),
 *   use: (order, price) => ({ ...order, price }),
 * })
 */
export function lookup<T, Found>(
  cache: Pick<Cache, 'getOrFetchMany'>,
  { key, fetch, use, ...rest }: LookupStepOptions<T, Found>,
): Step {
  checkOptionNames('lookup', rest, ['key', 'fetch', 'use'])
  for (const [name, given] of Object.entries({ key, fetch, use }))
    if (typeof given !== 'function') throw invalidOption(`lookup.${name}`, given, 'pass a function')
  return {
    async batch(values: readonly T[]) {
      const byKey = new Map<string, T>()
      const keys = values.map((value) => {
        const own = key(value)
        byKey.set(keyOf(own).encoded, value)
        return own
      })
      const fetchMissing = (missing: readonly CacheKey[]): ReturnType<typeof fetch> =>
        fetch(missing.map(({ encoded }) => byKey.get(encoded)!))
      const found = await cache.getOrFetchMany<Found>(keys, fetchMissing)
      return values.map((value, i) => use(value, found[i]!))
    },
  }
}
