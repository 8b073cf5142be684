import { randomUUID } from 'node:crypto'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { invalidOption, StoreError } from '../../core/errors.ts'
import type { IoredisClient, NodeRedisClient, RedisClient, RedisConnection } from '../../redis/client.ts'
import { redisHealth } from '../../redis/health.ts'
import { ioredisConnection } from '../../redis/ioredis-connection.ts'
import { nodeRedisConnection } from '../../redis/node-redis-connection.ts'
import { Deadlines } from '../../timing/deadlines.ts'
import { runInMicrotask } from '../../timing/microtask.ts'
import type { CallbackStore, Waiter } from '../callback-store.ts'
import type { Store, StoreHealth, StoreObserver } from '../store.ts'
import { decideAcrossSlots } from './across-slots.ts'
import { Batch } from './batch.ts'
import { BatchSender } from './batch-sender.ts'
import { keysUnder, noSlot, slotOf } from './keys.ts'

export interface RedisStoreOptions {
  /** The start of every Redis key. */
  readonly prefix?: string
  /** After how much silence a connection with open calls is given up, as a frozen server would never end it. */
  readonly socketTimeoutMs?: number
  /** Longest wait between two attempts to connect. */
  readonly reconnectMs?: number
}

const defaults = Object.freeze({ prefix: 'sluice:', socketTimeoutMs: 600, reconnectMs: 200 })

/** A server that has nothing to do begins with so many subjects, while this process writes down the rest. */
const enoughToStart = 32

/**
 * Keeps counters in Redis or Valkey, exactly across all replicas. Takes the service's own client, ioredis or node-redis, standalone,
 * Sentinel or Cluster, and opens one more connection like it whose options make counting safe; the client itself is not used.
 *
 * @example createLimiter({ policy, store: redisStore(new Redis('redis://localhost')) })
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  const { prefix, socketTimeoutMs, reconnectMs } = { ...defaults, ...options }
  if (typeof prefix !== 'string' || !/^[\x21-\x7e]{0,64}$/.test(prefix))
    throw invalidOption('redisStore.prefix', prefix, 'use at most 64 printable ASCII characters')
  for (const [name, value] of Object.entries({ socketTimeoutMs, reconnectMs })) {
    if (!Number.isFinite(value) || value < 1)
      throw invalidOption(`redisStore.${name}`, value, 'use a number of milliseconds from 1')
  }
  return new RedisStore(connect(client, socketTimeoutMs, reconnectMs), prefix, socketTimeoutMs)
}

function connect(client: RedisClient, socketTimeoutMs: number, reconnectMs: number): RedisConnection {
  const given = client as { evalshaBuffer?: unknown; withTypeMapping?: unknown } | undefined
  if (typeof given?.evalshaBuffer === 'function')
    return ioredisConnection(client as IoredisClient, socketTimeoutMs, reconnectMs)
  if (typeof given?.withTypeMapping === 'function')
    return nodeRedisConnection(client as NodeRedisClient, socketTimeoutMs, reconnectMs)
  throw invalidOption(
    'redisStore client',
    client,
    'pass a client of ioredis (new Redis(...)) or of node-redis (createClient(...))',
  )
}

class RedisStore implements CallbackStore {
  readonly name = 'redis'
  readonly keepsDeadlines = true
  readonly #connection: RedisConnection
  readonly #keyOf: (charge: Charge) => string
  readonly #deadlines = new Deadlines()
  readonly #sender: BatchSender
  /** By slot: what was asked in this tick and has not been sent. */
  #open = new Map<number, Batch>()
  /** Whether what is open is going to be sent. */
  #waiting = false
  #waitingPays = false
  /** How much has ever been asked. */
  #asked = 0
  #closed = false

  constructor(connection: RedisConnection, prefix: string, socketTimeoutMs: number) {
    this.#connection = connection
    this.#sender = new BatchSender(connection, this.#deadlines, socketTimeoutMs)
    this.#keyOf = keysUnder(prefix)
  }

  watch(observer: StoreObserver): void {
    this.#sender.watch(observer)
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    return new Promise((answered, failed) => {
      this.submit(ask, withinMs, { answered, failed })
    })
  }

  submit(ask: Ask, withinMs: number, waiter: Waiter): undefined {
    if (this.#closed) throw new StoreError('closed', 'The Redis store is closed.')
    if (!this.#connection.isCluster) this.#enqueue(noSlot, ask, withinMs, waiter)
    else this.#submitToCluster(ask, withinMs, waiter)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return redisHealth(this.#connection, withinMs, this.#deadlines)
  }

  /** Waits for what was asked before, which is until the last deadline at the latest. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    while (this.#sender.inFlight > 0 || this.#open.size > 0) {
      this.#flush()
      await this.#sender.drain()
    }
    this.#deadlines.close()
    await this.#connection.close()
  }

  #submitToCluster(ask: Ask, withinMs: number, waiter: Waiter): void {
    const slots = ask.charges.map((charge) => slotOf(this.#keyOf(charge)))
    if (slots.every((slot) => slot === slots[0])) {
      this.#enqueue(slots[0]!, ask, withinMs, waiter)
      return
    }
    const endMs = performance.now() + withinMs
    decideAcrossSlots(ask, {
      slotOf: (charge) => slotOf(this.#keyOf(charge)),
      decide: (part) =>
        new Promise((answered, failed) => {
          this.#enqueue(slotOf(this.#keyOf(part.charges[0]!)), part, withinMs, { answered, failed })
        }),
      inTime: (work) => this.#deadlines.inTime(work, endMs),
      id: randomUUID,
    }).then(
      (answer) => waiter.answered(answer),
      (error) => waiter.failed(error),
    )
  }

  #enqueue(slot: number, ask: Ask, withinMs: number, waiter: Waiter): void {
    let batch = this.#open.get(slot)
    // Asks that may take longer than others must neither wait for them nor hurry them.
    if (batch !== undefined && batch.withinMs !== withinMs) {
      this.#sender.send(slot, batch)
      batch = undefined
    }
    if (batch === undefined) {
      batch = new Batch(performance.now() + withinMs, withinMs)
      this.#open.set(slot, batch)
    }
    batch.add(ask, this.#keyOf, waiter)
    this.#asked += 1
    if (batch.isFull || (this.#sender.inFlight === 0 && batch.keys.length >= enoughToStart)) {
      this.#open.delete(slot)
      this.#sender.send(slot, batch)
    } else if (!this.#waiting) {
      this.#waiting = true
      runInMicrotask(this.#flushSoon)
    }
  }

  /**
   * Requests that arrive on different sockets ask in different breaths of one turn of the event loop; waiting for its end lets them share
   * a call. Who is alone waits for nobody: not when nothing is under way and waiting has not paid the last time.
   */
  readonly #flushSoon = (): void => {
    if (this.#sender.inFlight === 0 && !this.#waitingPays) {
      this.#flush()
      return
    }
    const asked = this.#asked
    setImmediate(() => {
      this.#waitingPays = this.#asked > asked
      this.#flush()
    })
  }

  readonly #flush = (): void => {
    this.#waiting = false
    if (this.#open.size === 0) return
    const open = this.#open
    this.#open = new Map()
    for (const [slot, batch] of open) this.#sender.send(slot, batch)
  }
}
