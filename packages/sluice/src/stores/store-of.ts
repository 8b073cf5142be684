import type { RedisHandle } from '../redis/handle.ts'
import { insideOf } from '../redis/use-redis.ts'
import type { Store } from './store.ts'

/**
 * The store of a Redis handle, for what wraps it; a limiter takes the handle itself. The code of Redis comes with the
 * handle. Errors name the option `owner`.
 *
 * @example createLimiter({ policy, store: wrapStore(storeOf(redis), { name: 'counted' }) })
 */
export function storeOf(redis: RedisHandle, owner = 'storeOf redis'): Store {
  return insideOf(redis, owner).store() as Store
}
