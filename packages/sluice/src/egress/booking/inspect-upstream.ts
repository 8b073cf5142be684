import type { RedisHandle } from '../../redis/handle.ts'
import { useRedis } from '../../redis/use-redis.ts'
import { upstreamKeys } from './redis-port.ts'
import { inspect as inspectScript } from './scripts.gen.ts'

/** One limit of an upstream, as it stands. */
export interface LimitInspection {
  /** Units that are taken; of how many, while a process states the limit. */
  readonly used: number
  readonly amount?: number
  /** In how long the next of them is free again (ms). */
  readonly nextFreeMs: number
  /** For how much longer it is paced because state was lost (ms). */
  readonly pacedMs: number
}

/** The shared state of an upstream, for display. */
export interface UpstreamInspection {
  /** Changes when state was lost. */
  readonly marker: string
  /** For how much longer nothing is granted because state was lost (ms). */
  readonly recoveringMs: number
  /** What a request counts as its arrival at least, since the vendor refused although there was room (ms). */
  readonly widenedMs: number
  readonly widenedForMs: number
  /** Calls that wait, on all replicas. */
  readonly waiting: number
  /** By limit, such as `requests/1000`. */
  readonly limits: Readonly<Record<string, LimitInspection>>
  /** By process: when it was last seen (ms ago), and how many of its calls are in flight. */
  readonly processes: Readonly<Record<string, { readonly seenMs: number; readonly inFlight: number }>>
  /** By scope: for how much longer (ms) it is paused; the empty scope is all of it. */
  readonly pauses: Readonly<Record<string, number>>
  /** Who waits: how many calls, and since when the first of them (ms ago). */
  readonly queue: readonly {
    readonly caller: string
    readonly tenant: string
    readonly waiting: number
    readonly sinceMs: number
  }[]
}

/**
 * Reads the shared state of an upstream; undefined when there is none.
 *
 * @example await inspectUpstream(redis, 'ingest', 'vendor')
 */
export async function inspectUpstream(
  handle: RedisHandle,
  service: string,
  upstream: string,
  withinMs = 2000,
): Promise<UpstreamInspection | undefined> {
  const { redis, prefix, release } = useRedis(handle, 'inspectUpstream redis')
  try {
    const keys = upstreamKeys(service, upstream, prefix)
    const { reply } = await redis.runScript({ script: inspectScript, keys, args: ['{}'], withinMs })
    const text = reply.read() as string
    if (text === '') return undefined
    const found = JSON.parse(text) as UpstreamInspection
    // An empty list of Lua reads as an object.
    return Array.isArray(found.queue) ? found : { ...found, queue: [] }
  } finally {
    await release()
  }
}
