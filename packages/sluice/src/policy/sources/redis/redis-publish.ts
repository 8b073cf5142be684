import { checkOptionNames } from '../../../core/check-options.ts'
import type { RedisClient } from '../../../redis/client.ts'
import { withRedis } from '../../../redis/open-redis.ts'
import type { Redis } from '../../../redis/redis.ts'
import { type PolicyArchive, type PushOptions, policyChanged, readPushOptions } from '../archive.ts'
import { publish } from './scripts.gen.ts'

export interface RedisPolicyPlace {
  /**
   * The Redis key that holds the policy: a hash with `document` and `revision`, or a string with the document alone.
   */
  readonly key: string
  /** Where changes are announced; `<key>:changed` unless said otherwise. */
  readonly channel?: string
}

/** The place to publish to; the options of a source fit too. */
export const redisPolicyOptionNames: readonly string[] = ['key', 'channel', 'pollMs', 'timeoutMs']

/** How many versions are kept in the hash, the one in force included. */
const versionsKept = 10
const publishMs = 5000

/**
 * Puts a policy in Redis and announces it to every replica that follows it; returns its revision.
 *
 * @example
 * await publishRedisPolicy(redis, { key: 'sluice:policy:shop' }, document)
 */
export async function publishRedisPolicy(
  redis: RedisClient | Redis,
  place: RedisPolicyPlace,
  document: unknown,
  options: PushOptions = {},
): Promise<number> {
  checkOptionNames('publishRedisPolicy', place, redisPolicyOptionNames)
  const after = readPushOptions(options)
  const { key, channel = channelOf(key) } = place
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  return withRedis(redis, 'publishRedisPolicy', async (shared) => {
    // Publishing can wait for a server that is coming back.
    await shared.ready(publishMs, 'values')
    const { reply } = await shared.runScript({
      script: publish,
      keys: [key],
      args: [text, channel, String(versionsKept), after === undefined ? '' : String(after)],
      withinMs: publishMs,
      lane: 'values',
    })
    const revision = reply.read()
    if (revision === '') throw policyChanged(after ?? 0)
    return Number(revision)
  })
}

export function channelOf(key: string): string {
  return `${key}:changed`
}

export function redisArchive(redis: RedisClient | Redis, place: RedisPolicyPlace): PolicyArchive {
  return {
    push: (document, options) => publishRedisPolicy(redis, place, document, options),
    async history(limit) {
      const flat = await withRedis(redis, 'redisPolicy', async (shared) => {
        const ask = (name: string): Promise<unknown> =>
          shared.command([name, place.key], { key: place.key, lane: 'values' })
        // A text that an operator set directly is a policy, too, but has no versions yet.
        return (await ask('TYPE')) === 'hash' ? ((await ask('HGETALL')) as string[]) : []
      })
      const versions: { readonly revision: number; readonly document: string }[] = []
      for (let i = 0; i < flat.length; i += 2) {
        if (/^v:\d+$/.test(flat[i]!)) versions.push({ revision: Number(flat[i]!.slice(2)), document: flat[i + 1]! })
      }
      return versions
        .sort((a, b) => b.revision - a.revision)
        .slice(0, limit)
        .map(({ revision, document }) => ({ revision, createdAt: new Date(revision), document }))
    },
  }
}
