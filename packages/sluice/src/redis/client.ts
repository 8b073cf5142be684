import type { Script } from './script.ts'

/** What tells an ioredis client (5 and 6; `Redis` or `Cluster`). All else that Sluice uses of one, it uses of a duplicate. */
export interface IoredisClient {
  readonly isCluster?: boolean
  readonly status: string
  duplicate(...args: never[]): unknown
}

/** What tells a node-redis client (5 and 6; `createClient`, `createSentinel` or `createCluster`). */
export interface NodeRedisClient {
  withTypeMapping(mapping: never): unknown
}

/** A client of Redis or Valkey that a service already has. */
export type RedisClient = IoredisClient | NodeRedisClient

/** A connection of Sluice's own: it fails at once when there is no server, and never sends anything twice. */
export interface RedisConnection {
  readonly isCluster: boolean
  /** Grows with every connection that was made, as it may lead to another server than the one before. */
  readonly generation: number
  /** Settles when the first attempt to connect has ended, well or badly. */
  readonly attempted: Promise<void>
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Buffer>
  load(script: Script, keys: readonly string[], args: readonly string[]): Promise<Buffer>
  /** Any other command; on a cluster, to any node. */
  command(name: string, ...args: string[]): Promise<unknown>
  /** The node that serves a slot, as far as the client knows. Clocks differ from node to node. */
  nodeOf(slot: number): string
  close(): Promise<void>
}

/** Waits between attempts to connect: doubling, at most `capMs`, spread so that replicas do not come back all at once. */
export function reconnectDelayMs(attempt: number, capMs: number, random: () => number): number {
  return Math.ceil(Math.min(capMs, 25 * 2 ** Math.min(attempt, 10)) * (0.5 + random() / 2))
}
