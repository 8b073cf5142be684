import { Cluster, Redis } from 'ioredis'
import { type Env, isAddress, SettingError, withoutPassword } from './env.ts'
import type { Log } from './main.ts'

/**
 * A client that reconnects by itself: of one Redis (`REDIS_URL`), of a Cluster (several URLs), or of the master that
 * Sentinels know (`REDIS_SENTINELS=host:port,...`, `REDIS_MASTER`). An outage is one line in the log, its end another.
 */
export function connectRedis(env: Env, log: Log, usual?: string): Redis | Cluster {
  const redis = open(env, usual)
  let isAway = false
  redis.on('error', (error) => {
    if (!isAway) log('redis_unavailable', { error: error.message })
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) log('redis_available')
    isAway = false
  })
  return redis
}

/** Whether a variable names a Redis. */
export const namesRedis = (env: Env): boolean =>
  env.optional('REDIS_URL') !== undefined || env.optional('REDIS_SENTINELS') !== undefined

/**
 * The Redis that a variable names, or the one on this machine. Undefined when there is none: then everything is kept in
 * memory, which is enough for a single instance with fewer than a thousand decisions a day.
 */
export async function findRedis(env: Env, log: Log): Promise<Redis | Cluster | undefined> {
  if (namesRedis(env)) return connectRedis(env, log)
  const usual = 'redis://localhost:6379'
  const probe = new Redis(usual, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 500 })
  probe.on('error', () => undefined)
  try {
    await probe.connect()
    return connectRedis(env, log, usual)
  } catch {
    log('redis_not_used', { reason: `REDIS_URL is not set and nothing answers at ${usual}; all is in memory` })
    return undefined
  } finally {
    probe.disconnect()
  }
}

function open(env: Env, usual: string | undefined): Redis | Cluster {
  const [urls, sentinels] = [env.list('REDIS_URL'), env.list('REDIS_SENTINELS')]
  const hint = 'use redis://host:6379'
  // Anything else would be taken for the path of a socket, and tried for ever.
  const wrong = urls.find((url) => !isAddress(url, hint))
  if (wrong !== undefined) throw new SettingError(`REDIS_URL is ${withoutPassword(wrong)}: ${hint}`)
  const retryStrategy = (times: number): number => Math.min(times * 50, 2000)
  const options = { maxRetriesPerRequest: 1, retryStrategy }
  if (sentinels.length > 0) {
    const nodes = sentinels.map((each) => {
      if (!/^[^:]+(:\d{1,5})?$/.test(each)) throw new SettingError(`REDIS_SENTINELS is ${each}: use host:26379`)
      const [host = '', port = 26_379] = each.split(':')
      return { host, port: Number(port) }
    })
    return new Redis({ ...options, sentinels: nodes, name: env.text('REDIS_MASTER', 'mymaster') })
  }
  if (urls.length > 1) return new Cluster(urls, { clusterRetryStrategy: retryStrategy })
  const [url = usual] = urls
  if (url === undefined) throw new SettingError(`REDIS_URL is not set: ${hint}`)
  return new Redis(url, options)
}
