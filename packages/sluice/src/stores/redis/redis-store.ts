import { randomUUID } from 'node:crypto'
import type { Answer, Ask, Charge } from '../../core/ask.ts'
import { invalidOption, StoreError } from '../../core/errors.ts'
import { Deadlines } from '../deadlines.ts'
import type { Store, StoreHealth, StoreObserver } from '../store.ts'
import { decideAcrossSlots } from './across-slots.ts'
import { Batch } from './batch.ts'
import type { IoredisClient, NodeRedisClient, RedisClient, RedisConnection } from './client.ts'
import { ioredisConnection } from './ioredis-connection.ts'
import { redisKey, slotOf } from './keys.ts'
import { nodeRedisConnection } from './node-redis-connection.ts'
import { isMissingScript, redisFailure } from './redis-failure.ts'
import { redisHealth } from './redis-health.ts'
import { decide as decideScript } from './scripts.gen.ts'
import { ServerTime } from './server-time.ts'

export interface RedisStoreOptions {
  /** The start of every Redis key. */
  readonly prefix?: string
  /** After how much silence a connection with open calls is given up, as a frozen server would never end it. */
  readonly socketTimeoutMs?: number
  /** Longest wait between two attempts to connect. */
  readonly reconnectMs?: number
}

const defaults = Object.freeze({ prefix: 'sluice:', socketTimeoutMs: 1000, reconnectMs: 250 })

/** One server that is not a cluster has no slots. */
const noSlot = -1
/** How often a batch may be sent again because the server said it was too late by its clock and so did nothing. */
const maxAttempts = 3

/**
 * Keeps counters in Redis or Valkey, exactly across all replicas. Takes the service's own client, ioredis or node-redis, standalone,
 * Sentinel or Cluster, and opens one more connection like it whose options make counting safe; the client itself is not used.
 *
 * @example createLimiter({ policy, store: redisStore(new Redis('redis://localhost')) })
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  const { prefix, socketTimeoutMs, reconnectMs } = { ...defaults, ...options }
  if (typeof prefix !== 'string' || prefix.length > 64) throw invalidOption('redisStore.prefix', prefix, 'use a text of at most 64 characters')
  for (const [name, value] of Object.entries({ socketTimeoutMs, reconnectMs })) {
    if (!Number.isFinite(value) || value < 1) throw invalidOption(`redisStore.${name}`, value, 'use a number of milliseconds from 1')
  }
  return new RedisStore(connect(client, socketTimeoutMs, reconnectMs), prefix)
}

function connect(client: RedisClient, socketTimeoutMs: number, reconnectMs: number): RedisConnection {
  const given = client as Partial<IoredisClient & NodeRedisClient> | undefined
  if (typeof given?.evalshaBuffer === 'function') return ioredisConnection(client as IoredisClient, socketTimeoutMs, reconnectMs)
  if (typeof given?.withTypeMapping === 'function') return nodeRedisConnection(client as NodeRedisClient, socketTimeoutMs, reconnectMs)
  throw invalidOption('redisStore client', client, 'pass a client of ioredis (new Redis(...)) or of node-redis (createClient(...))')
}

class RedisStore implements Store {
  readonly name = 'redis'
  readonly #connection: RedisConnection
  readonly #keyOf: (charge: Charge) => string
  readonly #deadlines = new Deadlines()
  readonly #times = new Map<string, ServerTime>()
  /** By slot: what was asked in this tick and has not been sent. */
  #open = new Map<number, Batch>()
  readonly #full: [number, Batch][] = []
  #flushing = false
  #attempted = false
  #closed = false
  #observer: StoreObserver | undefined

  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection
    this.#keyOf = (charge) => redisKey(prefix, charge)
    connection.attempted.then(() => {
      this.#attempted = true
    })
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    if (this.#closed) return Promise.reject(new StoreError('closed', 'The Redis store is closed.'))
    if (!this.#connection.isCluster) return this.#enqueue(noSlot, ask, withinMs)
    const slots = ask.charges.map((charge) => slotOf(this.#keyOf(charge)))
    if (slots.every((slot) => slot === slots[0])) return this.#enqueue(slots[0]!, ask, withinMs)
    const inSlot = (part: Ask): Promise<Answer> => this.#enqueue(slotOf(this.#keyOf(part.charges[0]!)), part, withinMs)
    return decideAcrossSlots(ask, (charge) => slotOf(this.#keyOf(charge)), inSlot, randomUUID)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return redisHealth(this.#connection, withinMs, this.#deadlines)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const batch of [...this.#full.map(([, batch]) => batch), ...this.#open.values()]) batch.fail(new StoreError('closed', 'The Redis store was closed.'))
    this.#deadlines.close()
    await this.#connection.close()
  }

  #enqueue(slot: number, ask: Ask, withinMs: number): Promise<Answer> {
    let batch = this.#open.get(slot)
    if (batch?.isFull) {
      this.#full.push([slot, batch])
      batch = undefined
    }
    if (batch === undefined) {
      batch = new Batch(performance.now() + withinMs)
      this.#open.set(slot, batch)
    }
    if (!this.#flushing) {
      // Everything that this turn of the event loop asks, from however many requests, goes out together.
      this.#flushing = true
      setImmediate(() => this.#flush())
    }
    return batch.add(ask, this.#keyOf)
  }

  #flush(): void {
    this.#flushing = false
    const batches = [...this.#full, ...this.#open]
    this.#full.length = 0
    this.#open = new Map()
    for (const [slot, batch] of batches) this.#start(slot, batch)
  }

  #start(slot: number, batch: Batch): void {
    const cancel = this.#deadlines.add(batch.deadlineMs, () => batch.fail(new StoreError('timeout', 'Redis did not answer before the deadline.')))
    const send = (): Promise<void> => this.#send(slot, batch, 1).catch((error) => batch.fail(redisFailure(error))).then(cancel)
    if (this.#attempted) send()
    else this.#connection.attempted.then(send)
  }

  async #send(slot: number, batch: Batch, attempt: number): Promise<void> {
    const sentMs = performance.now()
    if (sentMs >= batch.deadlineMs || this.#closed) return
    const time = this.#timeOf(slot)
    const args = batch.args(Math.floor((time.at(batch.deadlineMs) ?? 0) * 1000), time.at(sentMs) ?? Date.now())
    const reply = await this.#run(batch.keys, args)
    const receivedMs = performance.now()
    const outcome = batch.settle(reply)
    time.learn(outcome.nowUs, sentMs, receivedMs)
    this.#observer?.roundTrip?.(batch.size, receivedMs - sentMs)
    if (!outcome.decided && attempt < maxAttempts) await this.#send(slot, batch, attempt + 1)
  }

  #run(keys: readonly string[], args: readonly string[]): Promise<Buffer> {
    return this.#connection.run(decideScript, keys, args).catch((error) => {
      if (isMissingScript(error)) return this.#connection.load(decideScript, keys, args)
      throw error
    })
  }

  #timeOf(slot: number): ServerTime {
    const node = slot === noSlot ? '' : this.#connection.nodeOf(slot)
    let time = this.#times.get(node)
    if (time === undefined) {
      time = new ServerTime()
      this.#times.set(node, time)
    }
    return time
  }
}
