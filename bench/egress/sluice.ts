import { Redis } from 'ioredis'
import { createEgress } from 'sluice/egress'
import { openRedis } from 'sluice/redis'
import type { Contender, Setup } from '../contenders/contender.ts'
import { narrowLimit, wideLimit } from './limits.ts'

const origin = 'http://vendor.example'

/**
 * A vendor that answers at once and without a network: what remains is booking, and the work of egress for each call.
 */
const transport = (_: unknown, handler: Record<string, (...args: unknown[]) => unknown>): boolean => {
  handler.onConnect?.(() => undefined)
  handler.onHeaders?.(200, [], () => undefined, 'OK')
  handler.onComplete?.([])
  return true
}

/** Receives the answer to one call. A class, as the loader of TypeScript wraps every function that is made per call. */
class Answer {
  readonly #resolve: (answer: boolean) => void
  readonly onError: (error: unknown) => void

  constructor(resolve: (answer: boolean) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve
    this.onError = reject
  }

  onConnect(): void {}

  onHeaders(): boolean {
    return true
  }

  onData(): boolean {
    return true
  }

  onComplete(): void {
    this.#resolve(true)
  }
}

/** Grants of Sluice. Limits are so wide that they are never reached. */
export async function open({ redisUrl, prefix }: Setup): Promise<Contender<boolean>> {
  const client = redisUrl === '' ? undefined : new Redis(redisUrl, { lazyConnect: true })
  const limits = client ? narrowLimit : wideLimit
  const upstream = { name: 'vendor', origin, limits, retry: false as const }
  const egress = await createEgress({
    policy: { service: prefix, upstreams: [upstream] },
    ...(client ? { redis: openRedis(client) } : {}),
  })
  const dispatch = egress.interceptor()(transport as never) as unknown as (request: object, handler: object) => boolean
  const decide = (): Promise<boolean> =>
    new Promise((resolve, reject) => {
      dispatch({ origin, path: '/', method: 'GET' }, new Answer(resolve, reject))
    })
  return {
    decide,
    allowed: (answer) => answer,
    async close() {
      await egress.close()
      client?.disconnect()
    },
  }
}
