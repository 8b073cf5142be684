import { Deadlines } from '../timing/deadlines.ts'
import { type NodeRedisClient, type RedisConnection, reconnectDelayMs } from './client.ts'
import { duplicateOf, kindOf, type OwnNodeRedis } from './node-redis-client.ts'
import { once } from './once.ts'

/** RESP's sign for a blob string: replies come as bytes, not as text. */
const blobString = 36

/**
 * Opens a connection like the user's, with what makes it safe for counting. Its client is replaced by a new one when it stays silent
 * or does not get ready: node-redis takes every write for a sign of life and so never leaves a frozen server that is being written
 * to, and a cluster or sentinel client that could not connect at first does not try again.
 */
export function nodeRedisConnection(
  client: NodeRedisClient,
  socketTimeoutMs: number,
  reconnectCapMs: number,
): RedisConnection {
  const connection = new NodeRedisConnection(client, socketTimeoutMs, reconnectCapMs)
  connection.start()
  return connection
}

class NodeRedisConnection implements RedisConnection {
  readonly isCluster: boolean
  readonly attempted: Promise<void>
  readonly #source: NodeRedisClient
  readonly #socketTimeoutMs: number
  readonly #reconnectCapMs: number
  readonly #silence = new Deadlines()
  #own!: OwnNodeRedis
  #bytes!: OwnNodeRedis
  #generation = 0
  #lastError: Error | undefined
  #unreadySinceMs: number | undefined
  #attempts = 0
  #timer: NodeJS.Timeout | undefined
  #isRenewing = false
  #closed = false
  #settleAttempted!: () => void

  constructor(client: NodeRedisClient, socketTimeoutMs: number, reconnectCapMs: number) {
    this.#source = client
    this.#socketTimeoutMs = socketTimeoutMs
    this.#reconnectCapMs = reconnectCapMs
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
    const own = duplicateOf(this.#source, this.#reconnectCapMs)
    this.#own = own
    this.#bytes = own.withTypeMapping({ [blobString]: Buffer })
    this.#unreadySinceMs = performance.now()
    own.on('error', (error: Error) => {
      if (own === this.#own) this.#lastError = error
    })
    for (const event of ['ready', 'node-ready', 'topology-change']) own.on(event, () => this.#connected(own))
    once(own, ['ready', 'error', 'end']).then(this.#settleAttempted)
    own.connect().then(
      () => this.#connected(own),
      (error) => {
        this.#settleAttempted()
        if (own !== this.#own) return
        this.#lastError = error
        this.#renewLater()
      },
    )
  }

  run(script: { readonly sha1: string }, keys: readonly string[], args: readonly string[]): Promise<Buffer> {
    return this.#call(() => this.#bytes.evalSha(script.sha1, { keys, arguments: args })) as Promise<Buffer>
  }

  load(script: { readonly source: string }, keys: readonly string[], args: readonly string[]): Promise<Buffer> {
    return this.#call(() => this.#bytes.eval(script.source, { keys, arguments: args })) as Promise<Buffer>
  }

  command(...words: string[]): Promise<unknown> {
    const form = { single: [words], sentinel: [false, words], cluster: [undefined, true, words] }[kindOf(this.#source)]
    return this.#call(() => this.#own.sendCommand(...form))
  }

  nodeOf(slot: number): string {
    return this.#own.slots?.[slot]?.master?.address ?? ''
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#settleAttempted()
    clearTimeout(this.#timer)
    this.#silence.close()
    await end(this.#own)
  }

  get #isReady(): boolean {
    return this.#own.isReady ?? this.#own.isOpen ?? true
  }

  async #call(send: () => Promise<unknown>): Promise<unknown> {
    const own = this.#own
    const nowMs = performance.now()
    if (!this.#isReady) {
      this.#unreadySinceMs ??= nowMs
      if (nowMs - this.#unreadySinceMs > 2 * this.#socketTimeoutMs) this.#renew()
      throw this.#lastError ?? new Error('The connection to Redis is not ready.')
    }
    this.#unreadySinceMs = undefined
    let isSilent = false
    const cancel = this.#silence.add(nowMs + this.#socketTimeoutMs, () => {
      isSilent = true
      if (own === this.#own) this.#renew()
    })
    try {
      return await send()
    } catch (error) {
      if (own === this.#own && isLost(error)) this.#renewLater()
      if (isSilent)
        throw new Error(`Redis timed out: it did not answer for ${this.#socketTimeoutMs} ms`, { cause: error })
      throw this.#isReady || this.#lastError === undefined ? error : this.#lastError
    } finally {
      cancel()
    }
  }

  #connected(own: OwnNodeRedis): void {
    if (own !== this.#own) return
    this.#generation += 1
    this.#attempts = 0
    this.#lastError = undefined
    // One node of several may be ready before the whole is.
    if (this.#isReady) this.#settleAttempted()
  }

  /** The new client is made a turn later: what the end of the old one fails, and deadlines that are due, come first. */
  #renew(): void {
    if (this.#closed || this.#isRenewing) return
    this.#isRenewing = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    void end(this.#own)
    setImmediate(() => {
      this.#isRenewing = false
      if (!this.#closed) this.start()
    })
  }

  #renewLater(): void {
    if (this.#closed) return
    this.#timer ??= setTimeout(
      () => this.#renew(),
      reconnectDelayMs(this.#attempts++, this.#reconnectCapMs, Math.random),
    )
  }
}

/**
 * Whether only a new connection finds the right server: whoever was the master is one no longer, or the client looked when the cluster
 * had no slots yet, stumbles over that for ever, and does not look again.
 */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || /^(READONLY|MASTERDOWN|CLUSTERDOWN)/.test((error as Error).message)
}

/** Ends a client whatever state it is in; some of its forms throw when they are not open. */
async function end(client: OwnNodeRedis): Promise<void> {
  try {
    await client.destroy()
  } catch {
    // It had ended before.
  }
}
