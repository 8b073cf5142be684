import { callOptionCheck } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { StoreError } from '../core/errors.ts'
import type { StoreHealth } from '../core/observe/store-health.ts'
import { Deadlines } from '../runtime/deadlines.ts'
import { sleep } from '../runtime/sleep.ts'
import { type RedisClient, recogniseClient } from './client.ts'
import {
  type ConnectionOptions,
  type RedisArgument,
  type RedisConnection,
  reconnectDelayMs,
} from './connection/connection.ts'
import { ioredisConnection } from './connection/ioredis-connection.ts'
import { kindOf } from './connection/node-redis-client.ts'
import { nodeRedisConnection } from './connection/node-redis-connection.ts'
import { redisFailure } from './failure.ts'
import { redisHealth } from './health.ts'
import { Messages, type Subscriber } from './messages.ts'
import type { Lane, NodeFacts, Redis, RedisCommandOptions, ScriptReply, ScriptRequest } from './redis.ts'
import type { ReadCall } from './runner/read-call.ts'
import type { ScriptCall } from './runner/script-call.ts'
import { ScriptRunner } from './runner/script-runner.ts'
import { nodeFacts as nodeFactsScript } from './scripts.gen.ts'
import { slotOf } from './slots.ts'

/** How long a command may take that was given no time. */
const commandMs = 5000
const checkCommandOptions = callOptionCheck('redis.command', ['key', 'bytes', 'withinMs', 'lane'])

interface Channel {
  readonly connection: RedisConnection
  readonly runner: ScriptRunner
}

/** The sockets of a handle, shared by all parts that were given it. */
export class SharedRedis implements Redis {
  readonly isCluster: boolean
  readonly #client: RedisClient
  readonly #options: ConnectionOptions
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  #channels: Partial<Record<Lane, Channel>> = {}
  readonly #messages: Messages
  #users = 0
  #closing = false
  #closed = false

  constructor(client: RedisClient, options: ConnectionOptions) {
    const recognised = recogniseClient(client, 'openRedis client')
    this.isCluster =
      'ioredis' in recognised ? recognised.ioredis.isCluster === true : kindOf(recognised.nodeRedis) === 'cluster'
    this.#client = client
    this.#options = options
    this.#clock = options.clock
    this.#deadlines = new Deadlines(options.clock)
    this.#messages = new Messages(client, options)
  }

  get clock(): Clock {
    return this.#clock
  }

  /**
   * A part uses it until it calls the returned function. After the last one the sockets are closed, so that a process
   * can end; they are opened again when needed.
   */
  use(): () => Promise<void> {
    if (this.#closing) throw closed()
    this.#users += 1
    let isOver = false
    return async () => {
      if (isOver) return
      isOver = true
      this.#users -= 1
      if (this.#users === 0) await this.#closeSockets()
    }
  }

  /** Opens the socket for commands now, so that the first call need not wait for it. */
  connect(): void {
    this.#channel('commands')
  }

  async ready(withinMs: number, lane: Lane = 'commands'): Promise<void> {
    const endMs = this.#clock.monotonic() + withinMs
    for (let attempt = 0; ; attempt++) {
      try {
        await this.command(['PING'], { withinMs: Math.max(1, endMs - this.#clock.monotonic()), lane })
        return
      } catch (error) {
        const pauseMs = reconnectDelayMs(attempt, this.#options.reconnectMs, Math.random)
        if (this.#closed || this.#clock.monotonic() + pauseMs >= endMs) throw error
        await sleep(pauseMs, this.#clock)
      }
    }
  }

  run(call: ScriptCall, lane: Lane = 'commands'): void {
    this.#channel(lane).runner.run(call)
  }

  read(call: ReadCall, lane: Lane = 'commands'): void {
    this.#channel(lane).runner.read(call)
  }

  runScript({ script, keys, args = [], withinMs, lane }: ScriptRequest): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      const call: ScriptCall = {
        script,
        keys,
        deadlineMs: this.#clock.monotonic() + withinMs,
        args: () => args,
        settle: (reply, nowUs) => resolve({ reply, nowUs }),
        fail: reject,
      }
      this.run(call, lane)
    })
  }

  async command(words: readonly RedisArgument[], options: RedisCommandOptions = {}): Promise<unknown> {
    checkCommandOptions(options)
    const { withinMs = commandMs, lane = 'commands' } = options
    const { connection } = this.#channel(lane)
    const send = async (): Promise<unknown> => {
      await connection.attempted
      return connection.command(words, options)
    }
    try {
      return await this.#deadlines.inTime(send(), this.#clock.monotonic() + withinMs, late)
    } catch (error) {
      throw redisFailure(error)
    }
  }

  subscribe(channel: string, subscriber: Subscriber): () => void {
    this.#assertOpen()
    return this.#messages.subscribe(channel, subscriber)
  }

  async publish(channel: string, text: string): Promise<number> {
    return Number(await this.command(['PUBLISH', channel, text]))
  }

  async nodeFacts(key: string, withinMs: number): Promise<NodeFacts> {
    const { reply } = await this.runScript({ script: nodeFactsScript, keys: [key], withinMs })
    return { runId: String(reply.read()), evictedKeys: Number(reply.read()) }
  }

  connection(lane: Lane = 'commands'): number {
    return this.#closed ? -1 : this.#channel(lane).connection.generation
  }

  nodeOf(key: string): string {
    return this.isCluster ? this.#channel('commands').connection.nodeOf(slotOf(key)) : ''
  }

  async health(withinMs: number): Promise<StoreHealth> {
    const { connection } = this.#channel('commands')
    return redisHealth(connection, withinMs, this.#deadlines, this.#clock)
  }

  async close(): Promise<void> {
    this.#closing = true
    if (this.#users === 0) await this.#closeSockets()
  }

  #assertOpen(): void {
    if (this.#closed) throw closed()
  }

  #channel(lane: Lane): Channel {
    const known = this.#channels[lane]
    if (known !== undefined) return known
    this.#assertOpen()
    const recognised = recogniseClient(this.#client, 'openRedis client')
    const connection =
      'ioredis' in recognised
        ? ioredisConnection(recognised.ioredis, this.#options)
        : nodeRedisConnection(recognised.nodeRedis, this.#options)
    const runner = new ScriptRunner(connection, this.#deadlines, this.#clock, this.#options.socketTimeoutMs)
    const channel = { connection, runner }
    this.#channels[lane] = channel
    return channel
  }

  async #closeSockets(): Promise<void> {
    this.#closed = this.#closing
    this.#messages.close()
    const channels = Object.values(this.#channels)
    this.#channels = {}
    await Promise.all(channels.map(({ connection }) => connection.close()))
    if (this.#closed) this.#deadlines.close()
  }
}

function closed(): StoreError {
  return new StoreError('closed', 'The Redis handle is closed; make a new one with openRedis.')
}

function late(): StoreError {
  return new StoreError('timeout', 'Redis did not answer before the deadline.')
}
