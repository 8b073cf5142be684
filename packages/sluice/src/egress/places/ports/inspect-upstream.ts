import type { RedisHandle } from '../../../redis/handle.ts'
import { useRedis } from '../../../redis/use-redis.ts'
import { inspect as inspectScript } from '../../booking/scripts.gen.ts'
import { upstreamKeys } from './redis-port.ts'

/** The shared state of an upstream, for display. */
export interface UpstreamInspection {
  readonly epoch: string
  readonly recovering: boolean
  /** Calls that wait, on all replicas. */
  readonly waiting: number
  /** Units taken by limit, such as `requests/1000`. */
  readonly limits: Readonly<Record<string, number>>
  /** By process: for how long (ms) it was silent. */
  readonly processes: Readonly<Record<string, number>>
  /** By scope: for how much longer (ms) it is paused; the empty scope is all of it. */
  readonly pauses: Readonly<Record<string, number>>
  readonly calls: { readonly assigned: number; readonly held: number; readonly answered: number }
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
    const { reply } = await redis.runScript({ script: inspectScript, keys, withinMs })
    const text = reply.read() as string
    return text === '' ? undefined : (JSON.parse(text) as UpstreamInspection)
  } finally {
    await release()
  }
}
