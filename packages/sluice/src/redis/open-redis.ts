import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption } from '../core/errors.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { type RedisClient, recogniseClient } from './client.ts'
import type { Redis } from './redis.ts'
import { SharedRedis } from './shared-redis.ts'

/** How the connections of a handle behave. */
export interface RedisOptions {
  /**
   * After how much silence a connection with calls in flight is given up, as a frozen server would never end it. 600 ms
   * by default.
   */
  readonly socketTimeoutMs?: number
  /** Longest wait between two attempts to connect. 200 ms by default. */
  readonly reconnectMs?: number
}

const defaults = Object.freeze({ socketTimeoutMs: 600, reconnectMs: 200 })
export const redisOptionNames: readonly (keyof RedisOptions)[] = ['socketTimeoutMs', 'reconnectMs']

const handles = new WeakMap<object, SharedRedis>()

/**
 * Opens connections like a client's, for all parts of Sluice to share. The client itself, of ioredis or node-redis, is
 * not used. The same client always gives the same handle, so parts that are given the client share it too. Whoever
 * opens a handle closes it.
 *
 * @example
 * const redis = openRedis(new Redis('redis://localhost'), { socketTimeoutMs: 400 })
 * const policy = redisPolicy(redis, { key: 'sluice:policy:shop' })
 * const limiter = await createLimiter({ policy, store: redisStore(redis) })
 * await limiter.close()
 * await redis.close()
 */
export function openRedis(client: RedisClient, options: RedisOptions = {}): Redis {
  return sharedRedis(client, options, 'openRedis').opened()
}

/** A handle in use by a part. */
export interface UsedRedis {
  readonly redis: SharedRedis
  /** Ends the use; sockets without another user are closed. */
  release(): Promise<void>
}

/** For parts: takes a client or a handle. Connection options go with a client only. */
export function useRedis(given: RedisClient | Redis, options: RedisOptions, owner: string): UsedRedis {
  const redis =
    given instanceof SharedRedis
      ? refuseOptions(given, options, owner)
      : sharedRedis(given as RedisClient, options, owner)
  return { redis, release: redis.use() }
}

/** Uses a handle for one piece of work. */
export async function withRedis<T>(
  given: RedisClient | Redis,
  owner: string,
  work: (redis: Redis) => Promise<T>,
): Promise<T> {
  const { redis, release } = useRedis(given, {}, owner)
  try {
    return await work(redis)
  } finally {
    await release()
  }
}

/** Refuses what is neither a client nor a handle, early. */
export function recogniseRedis(given: RedisClient | Redis, owner: string): void {
  if (!(given instanceof SharedRedis)) recogniseClient(given, `${owner} client`)
}

/** Checks connection options, and picks them out of the options of a part. */
export function connectionOptions(options: RedisOptions, owner: string): RedisOptions {
  const picked: Record<string, number> = {}
  for (const name of redisOptionNames) {
    const value = options[name]
    if (value === undefined) continue
    if (!Number.isFinite(value) || value < 1)
      throw invalidOption(`${owner}.${name}`, value, 'use a number of milliseconds from 1')
    picked[name] = value
  }
  return picked
}

function refuseOptions(redis: SharedRedis, options: RedisOptions, owner: string): SharedRedis {
  for (const name of redisOptionNames) {
    if (options[name] !== undefined)
      throw invalidOption(`${owner}.${name}`, options[name], 'this belongs to the handle: openRedis(client, { ... })')
  }
  return redis
}

function sharedRedis(client: RedisClient, options: RedisOptions, owner: string): SharedRedis {
  if (owner === 'openRedis') checkOptionNames(owner, options, redisOptionNames)
  recogniseClient(client, `${owner} client`)
  const wanted = connectionOptions(options, owner)
  const known = handles.get(client)
  if (known === undefined) {
    const settings = { ...defaults, ...wanted, clock: systemClock() }
    const made = new SharedRedis(client, settings, () => {
      if (handles.get(client) === made) handles.delete(client)
    })
    handles.set(client, made)
    return made
  }
  for (const name of redisOptionNames) {
    if (wanted[name] !== undefined && wanted[name] !== known.options[name])
      throw invalidOption(
        `${owner}.${name}`,
        wanted[name],
        `this client is open already, with ${known.options[name]}; open it once with openRedis(client, { ${name} }) and pass that on`,
      )
  }
  return known
}
