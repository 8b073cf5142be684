import type { Cluster, Redis } from 'ioredis'
import { openRedis, type RedisHandle } from 'sluice/redis'
import { type Store, storeOf } from 'sluice/store'
import { isAuthFailure, tryRedis } from '../../config/try-redis.ts'
import type { RedisTarget } from '../../connections/redis-target.ts'
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

/** Connects to a Redis, once: a command for people fails at once instead of trying again. */
export async function openStore(target: RedisTarget, prefix?: string): Promise<OpenRedis> {
  const { description } = target
  // The driver is many modules; commands that ask a daemon or have counters in memory do without it.
  const { redisClient } = await import('../../connections/redis-client.ts')
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
