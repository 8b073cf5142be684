import { invalidOption } from '../../../core/errors.ts'
import type { ArchivedSource } from '../archive.ts'
import { followedSource, noDocument, type Reading } from '../followed-source.ts'
import { type PolicyRedisClient, type RedisCommands, redisCommands } from './redis-client.ts'
import { channelOf, type RedisPolicyPlace, redisArchive } from './redis-publish.ts'

export type { IoredisPolicyClient, NodeRedisPolicyClient, PolicyRedisClient } from './redis-client.ts'
export { publishRedisPolicy, type RedisPolicyPlace } from './redis-publish.ts'

export interface RedisPolicyOptions extends RedisPolicyPlace {
  /** How often to look besides listening, in case a message is missed. 5 s by default. */
  readonly pollMs?: number
  /** How long one look may take. 5 s by default. */
  readonly timeoutMs?: number
}

/**
 * A policy in Redis: `publishRedisPolicy` puts it there. Reads over the given client of ioredis or node-redis, and listens over a
 * duplicate of it.
 *
 * @example
 * const limiter = await createLimiter({ policy: redisPolicy(redis, { key: 'sluice:policy:shop' }), store: redisStore(redis) })
 */
export function redisPolicy(client: PolicyRedisClient, options: RedisPolicyOptions): ArchivedSource {
  const { key, channel = channelOf(key), pollMs = 5000, timeoutMs = 5000 } = options
  if (typeof key !== 'string' || key === '') throw invalidOption('key', key, 'give the Redis key that holds the policy')
  const redis = redisCommands(client)
  const source = followedSource({
    description: `redis ${key}`,
    pollMs,
    timeoutMs,
    read: (stamp) => readDocument(redis, key, stamp),
    subscribe: (push) =>
      redis.subscribe(
        channel,
        () => push.changed(),
        () => push.broken(),
      ),
  })
  return Object.assign(source, { archive: redisArchive(redis, { key, channel }) })
}

async function readDocument(
  redis: RedisCommands,
  key: string,
  stamp: string | undefined,
): Promise<Reading | 'unchanged'> {
  try {
    if (stamp !== undefined && (await redis.fields(key, 'revision'))[0] === stamp) return 'unchanged'
    const [revision, text] = await redis.fields(key, 'revision', 'document')
    if (text == null) throw noDocument()
    const number = Number(revision ?? Number.NaN)
    return Number.isSafeInteger(number)
      ? { document: text, text, revision: number, stamp: revision as string }
      : { document: text, text, revision: undefined }
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('WRONGTYPE'))) throw error
    // Somebody has set it by hand.
    const text = await redis.text(key)
    if (text == null) throw noDocument()
    return { document: text, text, revision: undefined }
  }
}
