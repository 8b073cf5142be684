import type { Clock } from '../core/clock.ts'
import type { StoreHealth } from '../core/observe/store-health.ts'
import type { CommandOptions, RedisArgument } from './connection/connection.ts'
import type { Subscriber } from './messages.ts'
import type { MsgpackReader } from './msgpack.ts'
import type { ReadCall } from './runner/read-call.ts'
import type { ScriptCall } from './runner/script-call.ts'
import type { Script } from './script.ts'

/** Which socket a call goes over: replies of megabytes must not delay small ones. */
export type Lane = 'commands' | 'values'

/** One call of a script, for a promise of its reply. The script includes `lua/deadline.lua`. */
export interface ScriptRequest {
  readonly script: Script
  /** All in one cluster slot. */
  readonly keys: readonly string[]
  /** ARGV from ARGV[2] on. */
  readonly args?: readonly RedisArgument[]
  /** Within how many milliseconds an answer is needed; the script does nothing after that. */
  readonly withinMs: number
  readonly lane?: Lane
}

export interface ScriptReply {
  /** What the script returned after status and time. */
  readonly reply: MsgpackReader
  /** The server's time at which it ran, in microseconds. */
  readonly nowUs: number
}

export interface NodeFacts {
  readonly runId: string
  readonly evictedKeys: number
}

/** What the parts do with a handle: at most three sockets, each opened when first needed. */
export interface Redis {
  readonly isCluster: boolean
  /**
   * Waits until the server answers, for calls that can wait for a server to come back. All others fail at once while
   * there is no connection. Rejects with the last failure after `withinMs`.
   */
  ready(withinMs: number, lane?: Lane): Promise<void>
  /** Sends a script call as it is; for parts that batch. It ends with `settle` or `fail`. */
  run(call: ScriptCall, lane?: Lane): void
  /** Reads several keys by plain commands; for parts that batch. Not on a cluster. */
  read(call: ReadCall, lane?: Lane): void
  /** Runs a script once. Rejects with a `StoreError`. */
  runScript(request: ScriptRequest): Promise<ScriptReply>
  /** Any other command. Rejects with a `StoreError`. After `withinMs` it may still take effect, unlike a script. */
  command(words: readonly RedisArgument[], options?: RedisCommandOptions): Promise<unknown>
  /** Receives what is published to a channel, until the returned function is called. */
  subscribe(channel: string, subscriber: Subscriber): () => void
  /** Sends a message to every subscriber of a channel; returns how many of them the asked node knows. */
  publish(channel: string, text: string): Promise<number>
  /** Grows with every new connection of a lane, as it may lead to another server than the one before. */
  connection(lane?: Lane): number
  /**
   * Which run of which server serves a key, which changes when a server is restarted or replaced, and how many keys it
   * has evicted since it started.
   */
  nodeFacts(key: string, withinMs: number): Promise<NodeFacts>
  /** The node that serves a key, as far as the client knows; '' when there is only one. */
  nodeOf(key: string): string
  health(withinMs: number): Promise<StoreHealth>
  /** Its time, for the parts that use it. */
  readonly clock: Clock
}

export interface RedisCommandOptions extends CommandOptions {
  /** 5 s unless said otherwise. */
  readonly withinMs?: number
  readonly lane?: Lane
}
