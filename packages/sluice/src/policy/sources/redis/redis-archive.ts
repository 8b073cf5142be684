import type { RedisHandle } from '../../../redis/handle.ts'
import { withRedis } from '../../../redis/use-redis.ts'
import { type PolicyArchive, policyChanged, readPushOptions } from '../archive.ts'
import { publish } from './scripts.gen.ts'

/** How many versions are kept in the hash, the one in force included. */
const versionsKept = 10
const pushMs = 5000

interface RedisArchivePlace {
  readonly key: string
  readonly channel: string
}

/** Writes policies into a hash with the last versions, and announces them to every replica. */
export function redisArchive(redis: RedisHandle, { key, channel }: RedisArchivePlace): PolicyArchive {
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
