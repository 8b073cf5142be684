import type { Cache } from '../../cache/cache.ts'
import type { CacheKey } from '../../cache/keys/cache-key.ts'
import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { PipelineSink } from '../pipeline.ts'

export interface CacheSinkOptions<T> {
  readonly key: (value: T) => CacheKey | string
  /** What is cached; the whole record by default. */
  readonly value?: (value: T) => unknown
}

/**
 * Writes records to a cache, for those who read them by key. Writing one again does no harm.
 *
 * @example cacheSink(cache, { key: (price: { asset: string }) => keys.price(price.asset) })
 */
export function cacheSink<T>(cache: Pick<Cache, 'setMany'>, options: CacheSinkOptions<T>): PipelineSink<T> {
  checkOptionNames('cacheSink', options, ['key', 'value'])
  const { key, value: read = (value: T): unknown => value } = options
  if (typeof key !== 'function') throw invalidOption('cacheSink.key', key, 'pass a function from a record to its key')
  return { write: ({ records }) => cache.setMany(records.map(({ value }) => [key(value), read(value)] as const)) }
}
