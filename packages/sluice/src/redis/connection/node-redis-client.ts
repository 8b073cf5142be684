import type { NodeRedisClient } from '../client.ts'
import { type RedisArgument, reconnectDelayMs } from './connection.ts'

interface EvalOptions {
  readonly keys: readonly string[]
  readonly arguments: readonly RedisArgument[]
}

/** What Sluice uses of a node-redis client of its own. */
export interface OwnNodeRedis extends NodeRedisClient {
  readonly isReady?: boolean
  readonly isOpen?: boolean
  /** Only clusters have it. */
  readonly slots?: readonly ({ readonly master?: { readonly address?: string } } | undefined)[]
  on(event: string, listener: (...args: never[]) => void): unknown
  off(event: string, listener: (...args: never[]) => void): unknown
  withTypeMapping(mapping: unknown): OwnNodeRedis
  duplicate(...args: unknown[]): OwnNodeRedis
  connect(): Promise<unknown>
  destroy(): unknown
  evalSha(sha1: string, options: EvalOptions): Promise<unknown>
  eval(script: string, options: EvalOptions): Promise<unknown>
  sendCommand(...args: unknown[]): Promise<unknown>
}

/** How often the sentinels are asked for the master. */
const sentinelScanMs = 500

type Kind = 'single' | 'sentinel' | 'cluster'

/** Which of the three kinds of client of node-redis this is: each takes options and raw commands differently. */
export function kindOf(client: NodeRedisClient): Kind {
  if ((client as OwnNodeRedis).slots !== undefined) return 'cluster'
  return typeof (client as { getSentinelNode?: unknown }).getSentinelNode === 'function' ? 'sentinel' : 'single'
}

/** A client like the user's, with options that make it safe for counting. It is not connected yet. */
export function duplicateOf(client: NodeRedisClient, capMs: number): OwnNodeRedis {
  const source = client as OwnNodeRedis & { options?: Options; _options?: { defaults?: Options } }
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
      // Above 0, it sends a command again after its connection was lost, although it may have run.
      // It listens for `switch-master`, but sentinels announce `+switch-master`: only asking them shows a planned
      // failover.
      return source.duplicate({ maxCommandRediscovers: 0, scanInterval: sentinelScanMs })
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

/** Connects a client of our own, so that it can be ended at any moment. */
export interface ConnectingClient {
  /** What `connect()` of the client returned. */
  readonly connected: Promise<unknown>
  /** Ends the client, whatever state it is in. */
  end(): void
}

/**
 * node-redis does not close the socket of a client that is destroyed while it connects, and the process then never
 * exits. So a client that is connecting is destroyed when the attempt has ended.
 */
export function connectClient(own: OwnNodeRedis): ConnectingClient {
  let isConnecting = true
  let isEnding = false
  let isDestroyed = false
  const destroy = (): void => {
    if (isDestroyed) return
    isDestroyed = true
    try {
      Promise.resolve(own.destroy()).catch(ignore)
    } catch {
      // It has ended by itself.
    }
  }
  const attempt = (connecting: boolean) => (): void => {
    isConnecting = connecting
    if (isEnding && !isConnecting) destroy()
  }
  // Clusters and sentinels emit these events for single nodes; there, only the end of `connect()` counts.
  if (kindOf(own) === 'single') {
    for (const event of ['ready', 'error']) own.on(event, attempt(false))
    own.on('reconnecting', attempt(true))
  }
  const connected = own.connect()
  connected.then(attempt(false), attempt(false))
  return {
    connected,
    end() {
      isEnding = true
      if (!isConnecting) destroy()
    },
  }
}

function ignore(): void {}
