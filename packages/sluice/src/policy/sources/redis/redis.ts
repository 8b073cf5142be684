import { checkOptionNames } from '../../../core/check-options.ts'
import { type Duration, parseDuration } from '../../../core/duration.ts'
import { invalidOption } from '../../../core/errors.ts'
import type { RedisHandle } from '../../../redis/handle.ts'
import type { Redis } from '../../../redis/redis.ts'
import { insideOf, type UsedRedis, useRedis, withRedis } from '../../../redis/use-redis.ts'
import { type ArchivedSource, type PolicyArchive, policyChanged, readPushOptions } from '../archive.ts'
import { followedSource, noDocument, type Reading } from '../followed-source.ts'
import { publish } from './scripts.gen.ts'

export interface RedisPolicyOptions {
  /**
   * The Redis key that holds the policy: a hash with `document` and `revision`, or a string with the document alone.
   */
  readonly key: string
  /** Where changes are announced; `<key>:changed` unless said otherwise. */
  readonly channel?: string
  /** How often to look besides listening, in case a message is missed. 5 s by default. */
  readonly poll?: Duration
  /** How long one look may take. 5 s by default. */
  readonly timeout?: Duration
}

/**
 * A policy in Redis: `archive.push` puts it there.
 *
 * @example
 * const policy = redisPolicy(redis, { key: 'sluice:policy:shop' })
 * const limiter = await createLimiter({ policy, redis })
 */
export function redisPolicy(redis: RedisHandle, options: RedisPolicyOptions): ArchivedSource {
  checkOptionNames('redisPolicy', options, ['key', 'channel', 'poll', 'timeout'])
  const { key, channel = `${key}:changed` } = options
  const pollMs = parseDuration(options.poll ?? '5s', 'redisPolicy.poll')
  const timeoutMs = parseDuration(options.timeout ?? '5s', 'redisPolicy.timeout')
  if (typeof key !== 'string' || key === '') throw invalidOption('key', key, 'give the Redis key that holds the policy')
  insideOf(redis, 'redisPolicy redis')
  // Held from the first look until the source is closed.
  let used: UsedRedis | undefined
  const shared = (): Redis => {
    used ??= useRedis(redis, 'redisPolicy redis')
    return used.redis
  }
  const source = followedSource({
    description: `redis ${key}`,
    pollMs,
    timeoutMs,
    read: async (stamp) => readDocument(shared(), key, timeoutMs, stamp),
    subscribe: (push) => {
      const changed = (): void => push.changed()
      // When the connection is lost, a read shows whether Redis is gone.
      return shared().subscribe(channel, { message: changed, ready: changed, lost: changed })
    },
    close: async () => used?.release(),
  })
  return Object.assign(source, { archive: redisArchive(redis, { key, channel }) })
}

async function readDocument(
  redis: Redis,
  key: string,
  withinMs: number,
  stamp: string | undefined,
): Promise<Reading | 'unchanged'> {
  const fields = async (...names: string[]): Promise<(string | null)[]> =>
    // Documents may be large; a revision is not, and asking for it must not open another socket.
    (await redis.command(['HMGET', key, ...names], {
      key,
      withinMs,
      lane: names.includes('document') ? 'values' : 'commands',
    })) as (string | null)[]
  try {
    if (stamp !== undefined && stampOf(await fields('revision', 'time')) === stamp) return 'unchanged'
    const [revision = null, time = null, text] = await fields('revision', 'time', 'document')
    if (text == null) throw noDocument()
    const number = Number(revision ?? Number.NaN)
    return Number.isSafeInteger(number)
      ? { document: text, text, revision: number, stamp: stampOf([revision, time]) }
      : { document: text, text, revision: undefined }
  } catch (error) {
    if ((error as { kind?: unknown }).kind !== 'wrongtype') throw error
    // An operator has set it directly.
    const text = (await redis.command(['GET', key], { key, withinMs, lane: 'values' })) as string | null
    if (text == null) throw noDocument()
    return { document: text, text, revision: undefined }
  }
}

/** Revisions begin again after all data was lost, so the time belongs to it. */
const stampOf = (fields: readonly (string | null)[]): string => fields.join('@')

/** How many versions are kept in the hash, the one in force included. */
const versionsKept = 10
const pushMs = 5000

interface RedisArchivePlace {
  readonly key: string
  readonly channel: string
}

/** Writes policies into a hash with the last versions, and announces them to every replica. */
function redisArchive(redis: RedisHandle, { key, channel }: RedisArchivePlace): PolicyArchive {
  return {
    async push(document, options) {
      const after = readPushOptions(options)
      const text = typeof document === 'string' ? document : JSON.stringify(document)
      return withRedis(redis, 'redisPolicy', async (shared) => {
        // Pushing can wait for a server that is coming back.
        await shared.ready(pushMs, 'values')
        const { reply } = await shared.runScript({
          script: publish,
          keys: [key],
          args: [text, channel, String(versionsKept), after === undefined ? '' : String(after)],
          withinMs: pushMs,
          lane: 'values',
        })
        const revision = reply.read()
        if (revision === '') throw policyChanged(after ?? 0)
        return Number(revision)
      })
    },
    async history(limit) {
      const flat = await withRedis(redis, 'redisPolicy', async (shared) => {
        const ask = (name: string): Promise<unknown> => shared.command([name, key], { key, lane: 'values' })
        // A text that an operator set directly is a policy, too, but has no versions yet.
        return (await ask('TYPE')) === 'hash' ? ((await ask('HGETALL')) as string[]) : []
      })
      const fields = new Map<string, string>()
      for (let i = 0; i < flat.length; i += 2) fields.set(flat[i]!, flat[i + 1]!)
      return [...fields.keys()]
        .filter((name) => /^v:\d+$/.test(name))
        .map((name) => Number(name.slice(2)))
        .sort((a, b) => b - a)
        .slice(0, limit)
        .map((revision) => ({
          revision,
          createdAt: new Date(Number(fields.get(`t:${revision}`) ?? 0)),
          document: fields.get(`v:${revision}`)!,
        }))
    },
  }
}
