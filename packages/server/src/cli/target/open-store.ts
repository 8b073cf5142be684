import type { Cluster, Redis } from 'ioredis'
import { openRedis, type RedisHandle } from 'sluice/redis'
import { type Store, storeOf } from 'sluice/store'
import { parseRedisUrl, redisClient } from '../../config/redis-target.ts'
import { hideUrl } from '../../config/secrets/hide-secrets.ts'
import { isAuthFailure, tryRedis } from '../../config/try-redis.ts'
import { CliError, outOfReach } from '../cli-error.ts'

/** A Redis that answered. */
export interface OpenRedis {
  /** The address without what may be secret in it. */
  readonly description: string
  readonly client: Redis | Cluster
  readonly handle: RedisHandle
  /** A store on it. */
  open(): Store
  close(): Promise<void>
}

/** Connects to the Redis of a URL, once: a command for people fails at once instead of trying again. */
export async function openStore(url: string, prefix?: string): Promise<OpenRedis> {
  const target = parseRedisUrl(url, '--redis')
  const description = hideUrl(url)
  const client = redisClient(target)
  try {
    await tryRedis(client, 5000)
  } catch (error) {
    client.disconnect()
    const cause = error as Error
    if (isAuthFailure(cause)) throw new CliError(4, 'not-permitted', `${description}: ${cause.message}`, { cause })
    throw outOfReach(`no Redis at ${description}: ${cause.message}`, { cause, hint: 'start it, or correct --redis' })
  }
  const handle = openRedis(client, { reports: false, ...(prefix === undefined ? {} : { prefix }) })
  return {
    description,
    client,
    handle,
    open: () => storeOf(handle),
    async close() {
      await handle.close()
      client.disconnect()
    },
  }
}
