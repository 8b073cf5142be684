import type { StoredValue } from '../link/cache-link.ts'
import type { CacheCore } from './cache-core.ts'
import type { RedisSide } from './redis-side.ts'

/** What Redis has of a key: null for nothing, undefined when it did not answer. */
export type Stored = StoredValue | null | undefined

/** Reads the copy of one key. */
export function readStored(core: CacheCore, redis: RedisSide, key: string, withinMs: number): Promise<Stored> {
  return new Promise((answer) => {
    const resolve = (stored: StoredValue | undefined): void => {
      redis.heard(core.nowMs())
      answer(stored ?? null)
    }
    const reject = (error: unknown): void => {
      redis.failed(error)
      answer(undefined)
    }
    if (!redis.read(key, withinMs, { resolve, reject })) answer(undefined)
  })
}
