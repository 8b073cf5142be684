import { decodeKey, type KeyPart } from '../../core/key.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { defaultPrefix } from '../../redis/namespaces.ts'
import { useRedis } from '../../redis/use-redis.ts'
import { taggedCodec } from '../values/codec.ts'
import { readCopy } from '../values/stored-copy.ts'
import { StoredValue } from '../values/stored-value.ts'
import { CacheRedis } from './cache-redis.ts'
import { lookUp } from './scripts.gen.ts'

/** What Redis has of one key of a cache, for display. */
export interface InspectedEntry {
  readonly service: string
  readonly cache: string
  readonly name: string
  readonly parts: readonly KeyPart[]
  /** `damaged` means that no cache with the default codec can read it. */
  readonly state: 'fresh' | 'stale' | 'none' | 'damaged'
  readonly bytes: number
  readonly ageMs: number
  /** How long it is fresh from now; 0 when it is not. */
  readonly freshMs: number
  readonly tags: readonly string[]
  /** The position of the invalidation log before the data was read. */
  readonly generation: string | undefined
  readonly sequence: number
  readonly value: unknown
}

const start = '#cache/'

/** Whether a text is a cache's key as Redis has it: `#cache/shop/default/price/XLM`, with or without `sluice:`. */
export function isCacheKey(text: string): boolean {
  return text.startsWith(start) || text.startsWith(defaultPrefix + start)
}

/**
 * Reads what Redis has under a key of a cache, spelled as in Redis.
 *
 * @example await inspectEntry(redis, '#cache/shop/default/price/XLM')
 */
export async function inspectEntry(handle: RedisHandle, text: string): Promise<InspectedEntry> {
  const spelled = text.startsWith(defaultPrefix) ? text.slice(defaultPrefix.length) : text
  const [service = '', cache = '', ...encoded] = spelled.slice(start.length).split('/')
  const [name = '', ...parts] = decodeKey(encoded.join('/'))
  const { redis, prefix, release } = useRedis(handle, 'inspectEntry redis')
  try {
    const cacheRedis = new CacheRedis(redis, `${prefix}${start}${service}/${cache}/`, redis.clock)
    const key = encoded.join('/')
    const keys = [cacheRedis.value(key), cacheRedis.lock(key)]
    // Without a token, and so that no lock is taken.
    const { reply, nowUs } = await cacheRedis.runScript(lookUp, keys, ['', '', '-'], 5000)
    const [length = -1] = reply.read() as number[]
    const stored = length < 0 ? undefined : StoredValue.next(reply, length, nowUs)
    const copy = stored && readCopy(encoded.join('/'), stored, taggedCodec, Number.POSITIVE_INFINITY)
    const freshMs = copy && stored ? Math.max(0, copy.freshMs - stored.ageMs) : 0
    return {
      service: String(decodeKey(service)[0]),
      cache: String(decodeKey(cache)[0]),
      name: String(name),
      parts,
      state: stored === undefined ? 'none' : copy === undefined ? 'damaged' : freshMs > 0 ? 'fresh' : 'stale',
      bytes: Math.max(0, length),
      ageMs: stored?.ageMs ?? 0,
      freshMs,
      tags: copy?.tags.map((tag) => String(decodeKey(tag.slice(2))[0])) ?? [],
      generation: copy?.generation,
      sequence: copy?.sequence ?? 0,
      value: copy?.value,
    }
  } finally {
    await release()
  }
}
