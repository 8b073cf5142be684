import { SluiceError } from '../../../core/errors.ts'
import type { Redis } from '../../../redis/redis.ts'
import type { Store } from '../../../stores/store.ts'
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
 * @example await inspectUpstream(redisStore(client), 'ingest', 'vendor')
 */
export async function inspectUpstream(
  store: Store,
  service: string,
  upstream: string,
  withinMs = 2000,
): Promise<UpstreamInspection | undefined> {
  const lent = store.abilities?.lendRedis?.()
  if (lent === undefined)
    throw new SluiceError('SLUICE_WRONG_USE', `upstreams cannot be inspected in a ${store.name} store; use Redis`)
  try {
    const keys = upstreamKeys(service, upstream, lent.prefix)
    const { reply } = await (lent.redis as Redis).runScript({ script: inspectScript, keys, withinMs })
    const text = reply.read() as string
    return text === '' ? undefined : (JSON.parse(text) as UpstreamInspection)
  } finally {
    await lent.release()
  }
}
