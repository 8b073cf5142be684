import type { Clock } from '../../core/clock.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { Reachability } from '../../runtime/reachability.ts'
import type { NodeRedisClient } from '../client.ts'
import {
  type CommandOptions,
  type ConnectionOptions,
  flatReply,
  type RedisArgument,
  type RedisConnection,
  reconnectBackoff,
} from './connection.ts'
import { type ConnectingClient, connectClient, duplicateOf, kindOf, type OwnNodeRedis } from './node-redis-client.ts'
import { once } from './once.ts'

/** RESP's type byte of a blob string. Mapped to Buffer, replies come as bytes. */
const blobString = 36

/**
 * Opens a connection like the user's, with options that make it safe for counting. Its client is replaced by a new one
 * when it stays silent or does not get ready: node-redis counts every write as activity, so it never leaves a frozen
 * server that is being written to, and a cluster or sentinel client that could not connect at first does not try again.
 */
export function nodeRedisConnection(client: NodeRedisClient, options: ConnectionOptions): RedisConnection {
  const connection = new NodeRedisConnection(client, options)
  connection.start()
  return connection
}

/** A turn of the event loop in which calls were made. */
interface Turn {
  /** When they were written; `Infinity` before. */
  writtenMs: number
}

class NodeRedisConnection implements RedisConnection {
  readonly isCluster: boolean
  readonly attempted: Promise<void>
  readonly #source: NodeRedisClient
  readonly #socketTimeoutMs: number
  readonly #reconnectMs: number
  readonly #clock: Clock
  /** When each call in flight is to be given up. */
  readonly #timeouts: Deadlines
  readonly #reachability: Reachability
  #own!: OwnNodeRedis
  #connecting!: ConnectingClient
  #bytes!: OwnNodeRedis
  #generation = 0
  #lastError: Error | undefined
  #unreadySinceMs: number | undefined
  #isRenewing = false
  #turn: Turn | undefined
  #closed = false
  #settleAttempted!: () => void

  constructor(client: NodeRedisClient, { socketTimeoutMs, reconnectMs, clock }: ConnectionOptions) {
    this.#source = client
    this.#socketTimeoutMs = socketTimeoutMs
    this.#reconnectMs = reconnectMs
    this.#clock = clock
    this.#timeouts = new Deadlines(clock)
    this.#reachability = new Reachability({
      clock,
      random: Math.random,
      backoff: reconnectBackoff(reconnectMs),
      probe: () => this.#renew(),
    })
    this.isCluster = kindOf(client) === 'cluster'
    this.attempted = new Promise((resolve) => {
      this.#settleAttempted = resolve
    })
  }

  get generation(): number {
    return this.#generation
  }

  /** Makes a client and connects it. */
  start(): void {
    const own = duplicateOf(this.#source, this.#reconnectMs)
    this.#own = own
    this.#bytes = own.withTypeMapping({ [blobString]: Buffer })
    this.#unreadySinceMs = this.#clock.monotonic()
    own.on('error', (error: Error) => {
      if (own === this.#own) this.#lastError = error
    })
    for (const event of ['ready', 'node-ready', 'topology-change']) own.on(event, () => this.#connected(own))
    once(own, ['ready', 'error', 'end']).then(this.#settleAttempted)
    this.#connecting = connectClient(own)
    this.#connecting.connected.then(
      () => this.#connected(own),
      (error) => {
        this.#settleAttempted()
        if (own !== this.#own || this.#closed) return
        this.#lastError = error
        this.#reachability.failed()
      },
    )
  }

  run(script: { readonly sha1: string }, keys: readonly string[], args: readonly RedisArgument[]): Promise<Buffer> {
    return this.#call(() => this.#bytes.evalSha(script.sha1, { keys, arguments: args })) as Promise<Buffer>
  }

  load(script: { readonly source: string }, keys: readonly string[], args: readonly RedisArgument[]): Promise<Buffer> {
    return this.#call(() => this.#bytes.eval(script.source, { keys, arguments: args })) as Promise<Buffer>
  }

  command(words: readonly RedisArgument[], { key, bytes }: CommandOptions): Promise<unknown> {
    const form = { single: [words], sentinel: [false, words], cluster: [key, false, words] }[kindOf(this.#source)]
    return this.#call(() => (bytes ? this.#bytes : this.#own).sendCommand(...form)).then(flatReply)
  }

  nodeOf(slot: number): string {
    return this.#own.slots?.[slot]?.master?.address ?? ''
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#settleAttempted()
    this.#reachability.close()
    this.#timeouts.close()
    this.#connecting.end()
  }

  get #isReady(): boolean {
    return this.#own.isReady ?? this.#own.isOpen ?? true
  }

  async #call(send: () => Promise<unknown>): Promise<unknown> {
    const own = this.#own
    const nowMs = this.#clock.monotonic()
    if (!this.#isReady) {
      this.#unreadySinceMs ??= nowMs
      if (nowMs - this.#unreadySinceMs > 2 * this.#socketTimeoutMs) this.#reachability.probeNow()
      throw this.#lastError ?? new Error('The connection to Redis is not ready.')
    }
    this.#unreadySinceMs = undefined
    let isSilent = false
    const turn = this.#thisTurn()
    const look = (readMs: number): void => {
      const atMs = turn.writtenMs + this.#socketTimeoutMs
      if (readMs < atMs) {
        timeout = this.#timeouts.add(Math.min(atMs, readMs + this.#socketTimeoutMs), look)
        return
      }
      isSilent = true
      if (own === this.#own) this.#reachability.probeNow()
    }
    let timeout = this.#timeouts.add(nowMs + this.#socketTimeoutMs, look)
    try {
      return await send()
    } catch (error) {
      if (own === this.#own && isLost(error)) this.#reachability.failed()
      if (isSilent)
        throw new Error(`Redis timed out: it did not answer for ${this.#socketTimeoutMs} ms`, { cause: error })
      throw this.#isReady || this.#lastError === undefined ? error : this.#lastError
    } finally {
      timeout.cancel()
    }
  }

  /**
   * node-redis writes at the end of a turn of the event loop. However long that turn takes, no server owes a reply
   * before.
   */
  #thisTurn(): Turn {
    if (this.#turn !== undefined) return this.#turn
    const turn = { writtenMs: Infinity }
    this.#turn = turn
    setImmediate(() => {
      turn.writtenMs = this.#clock.monotonic()
      this.#turn = undefined
    })
    return turn
  }

  #connected(own: OwnNodeRedis): void {
    if (own !== this.#own) return
    this.#generation += 1
    this.#reachability.answered()
    this.#lastError = undefined
    // One node of several may be ready before the whole is.
    if (this.#isReady) this.#settleAttempted()
  }

  /**
   * The new client is made in the next turn of the event loop, so that the failures of the old one are settled first.
   */
  #renew(): void {
    if (this.#closed || this.#isRenewing) return
    this.#isRenewing = true
    this.#connecting.end()
    setImmediate(() => {
      this.#isRenewing = false
      if (!this.#closed) this.start()
    })
  }
}

/**
 * Whether only a new connection finds the right server: the master has changed, or the client read the slots before the
 * cluster had any. In that case it throws a TypeError for every call and never reads them again.
 */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || /^(READONLY|MASTERDOWN|CLUSTERDOWN)/.test((error as Error).message)
}
