import { invalidOption } from '../core/errors.ts'
import type { ReportPart } from '../core/observe/report.ts'
import { inside, type RedisHandle } from './handle.ts'
import type { Redis } from './redis.ts'

/** What a handle gives to the parts. */
export interface InsideRedis {
  readonly redis: Redis
  /** A part uses the sockets until it calls the returned function. */
  use(): () => Promise<void>
  /** The store of counters, one for all limiters of the handle. It is a `Store`, whose type is above this layer. */
  store(): object
  /** Reports a part of this process for as long as it exists; the returned function ends that. */
  report(part: ReportPart): () => Promise<void>
}

/** A handle in use by a part. */
export interface UsedRedis {
  readonly redis: Redis
  readonly service: string
  readonly prefix: string
  /** Ends the use; sockets without another user are closed. */
  release(): Promise<void>
}

/** Takes a handle for a part; `owner` names the option in an error. */
export function useRedis(handle: RedisHandle, owner: string): UsedRedis {
  const { redis, use } = insideOf(handle, owner)
  return { redis, service: handle.service, prefix: handle.prefix, release: use() }
}

/** Uses a handle for one piece of work. */
export async function withRedis<T>(handle: RedisHandle, owner: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const { redis, release } = useRedis(handle, owner)
  try {
    return await work(redis)
  } finally {
    await release()
  }
}

/** Refuses a client and everything else that is not a handle. */
export function insideOf(handle: RedisHandle, owner: string): InsideRedis {
  const found = (handle as Partial<RedisHandle> | null | undefined)?.[inside]
  if (found === undefined)
    throw invalidOption(owner, handle, "pass a handle: openRedis(client), with openRedis from 'sluice/redis'")
  return found as InsideRedis
}
