import { invalidOption } from '../core/errors.ts'
import { type NodeRedisClient, reconnectDelayMs } from './client.ts'

interface EvalOptions {
  readonly keys: readonly string[]
  readonly arguments: readonly string[]
}

/** What Sluice uses of a node-redis client of its own. */
export interface OwnNodeRedis extends NodeRedisClient {
  readonly isReady?: boolean
  readonly isOpen?: boolean
  /** Only clusters have it. */
  readonly slots?: readonly ({ readonly master?: { readonly address?: string } } | undefined)[]
  on(event: string, listener: (...args: never[]) => void): unknown
  withTypeMapping(mapping: unknown): OwnNodeRedis
  duplicate(...args: unknown[]): OwnNodeRedis
  connect(): Promise<unknown>
  destroy(): unknown
  evalSha(sha1: string, options: EvalOptions): Promise<unknown>
  eval(script: string, options: EvalOptions): Promise<unknown>
  sendCommand(...args: unknown[]): Promise<unknown>
}

type Kind = 'single' | 'sentinel' | 'cluster'

/** Which of the three clients of node-redis it is: they take options and raw commands differently. */
export function kindOf(client: NodeRedisClient): Kind {
  if ((client as OwnNodeRedis).slots !== undefined) return 'cluster'
  return typeof (client as { getSentinelNode?: unknown }).getSentinelNode === 'function' ? 'sentinel' : 'single'
}

/** A client like the user's, with what makes it safe for counting. It is not connected yet. */
export function duplicateOf(client: NodeRedisClient, capMs: number): OwnNodeRedis {
  const source = client as OwnNodeRedis & { options?: Options; _options?: { defaults?: Options } }
  if (typeof source.duplicate !== 'function') {
    throw invalidOption(
      'redisStore client',
      client,
      'this client cannot be duplicated; use createSentinel of node-redis 6, or ioredis',
    )
  }
  switch (kindOf(client)) {
    case 'single':
      return source.duplicate(safe(source.options, capMs))
    case 'cluster': {
      const defaults = source._options?.defaults
      // A node that is lost may be replaced at any moment: look soon.
      return source.duplicate({
        defaults: { ...defaults, ...safe(defaults, capMs) },
        topologyRefreshOnReconnectionAttemptStrategy: 100,
      })
    }
    case 'sentinel':
      // Above 0, it sends a command again whose connection was lost, whether or not it ran.
      return source.duplicate({ maxCommandRediscovers: 0 })
  }
}

interface Options {
  readonly socket?: object
}

function safe(options: Options | undefined, capMs: number): object {
  return {
    // A command that cannot go out now must fail now, not run late.
    disableOfflineQueue: true,
    socket: {
      ...options?.socket,
      connectTimeout: 1000,
      reconnectStrategy: (attempt: number) => reconnectDelayMs(attempt, capMs, Math.random),
    },
  }
}
