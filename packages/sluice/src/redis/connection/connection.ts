import { type BackoffOptions, backoffMs } from '../../core/backoff.ts'
import type { Clock } from '../../core/clock.ts'
import type { Script } from '../script.ts'

/** An argument of a command or a script: text, or bytes as they are. */
export type RedisArgument = string | Buffer

export interface CommandOptions {
  /** On a cluster, the node that serves this key is asked; any node when left out. */
  readonly key?: string | undefined
  /** Texts in the reply are wanted as bytes. */
  readonly bytes?: boolean | undefined
}

/** How a connection of Sluice's own behaves. */
export interface ConnectionOptions {
  /** After how much silence a connection with calls in flight is given up: a frozen server would never end it. */
  readonly socketTimeoutMs: number
  /** Longest wait between two attempts to connect. */
  readonly reconnectMs: number
  readonly clock: Clock
}

/** A connection of Sluice's own: it fails at once when there is no server, and never sends anything twice. */
export interface RedisConnection {
  readonly isCluster: boolean
  /** Grows with every connection that was made, as it may lead to another server than the one before. */
  readonly generation: number
  /** Settles when the first attempt to connect has ended, well or badly. */
  readonly attempted: Promise<void>
  run(script: Script, keys: readonly string[], args: readonly RedisArgument[]): Promise<Buffer>
  load(script: Script, keys: readonly string[], args: readonly RedisArgument[]): Promise<Buffer>
  /** Any other command. Maps come as flat lists of names and values, whatever the protocol version. */
  command(words: readonly RedisArgument[], options: CommandOptions): Promise<unknown>
  /** The node that serves a slot, as far as the client knows. Clocks differ from node to node. */
  nodeOf(slot: number): string
  close(): Promise<void>
}

/** The waits between attempts to connect, which are `reconnectMs` at the longest. */
export function reconnectBackoff(reconnectMs: number): BackoffOptions {
  return { baseMs: 25, maxMs: reconnectMs }
}

export function reconnectDelayMs(attempt: number, reconnectMs: number, random: () => number): number {
  return Math.ceil(backoffMs(attempt, random, reconnectBackoff(reconnectMs)))
}

/** A reply in the form that RESP2 has: maps of RESP3, and what a client makes of them, as flat lists. */
export function flatReply(reply: unknown): unknown {
  if (reply instanceof Map) return [...reply].flat()
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply) || Buffer.isBuffer(reply)) return reply
  return Object.entries(reply).flat()
}
