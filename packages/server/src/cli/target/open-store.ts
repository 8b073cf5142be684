import type { Cluster, Redis } from 'ioredis'
import type { Store } from 'sluice'
import { redisStore } from 'sluice/redis'
import { hideSecrets } from '../../config/hide-secrets.ts'
import { parseRedisUrl, redisClient } from '../../config/redis-target.ts'
import { CliError, outOfReach, toCliError } from '../cli-error.ts'

/** A Redis that answered. */
export interface OpenRedis {
  /** The address without what may be secret in it. */
  readonly description: string
  readonly client: Redis | Cluster
  /** A store on it; every call opens a connection of its own. */
  open(): Store
  close(): Promise<void>
}

/** Connects to the Redis of a URL, once: commands for people fail rather than wait for better days. */
export async function openStore(url: string, prefix?: string): Promise<OpenRedis> {
  const target = parseRedisUrl(url, '--redis')
  const description = hideSecrets(url)
  const client = redisClient(target)
  let reason: Error | undefined
  client.on('error', (error: Error & { lastNodeError?: Error }) => {
    reason ??= error.lastNodeError ?? error
  })
  const failed = new Promise<never>((_, reject) => {
    const give = (): void => reject(reason ?? new Error('the connection was closed'))
    client.once('close', give)
    setTimeout(() => reject(reason ?? new Error('no answer within 5 s')), 5000).unref()
  })
  try {
    await Promise.race([ready(client), failed])
  } catch (error) {
    client.disconnect()
    const cause = reason ?? (error as Error)
    const known = toCliError(cause)
    if (known.exitCode === 4) throw new CliError(4, 'not-permitted', `${description}: ${cause.message}`, { cause })
    throw outOfReach(`no Redis at ${description}: ${cause.message}`, { cause, hint: 'start it, or correct --redis' })
  }
  const options = prefix === undefined ? {} : { prefix }
  return { description, client, open: () => redisStore(client, options), close: async () => client.disconnect() }
}

async function ready(client: Redis | Cluster): Promise<void> {
  await client.connect()
  await client.ping()
}
