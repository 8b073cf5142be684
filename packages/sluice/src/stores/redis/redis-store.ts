import { randomUUID } from 'node:crypto'
import { checkOptionNames } from '../../core/check-options.ts'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { invalidOption, StoreError } from '../../core/errors.ts'
import type { RedisClient } from '../../redis/client.ts'
import { defaultPrefix } from '../../redis/namespaces.ts'
import {
  connectionOptions,
  type RedisOptions,
  redisOptionNames,
  type UsedRedis,
  useRedis,
} from '../../redis/open-redis.ts'
import type { Redis } from '../../redis/redis.ts'
import { TickBatcher } from '../../redis/runner/tick-batcher.ts'
import { noSlot, slotOf } from '../../redis/slots.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { Observers } from '../observers.ts'
import type { LentRedis, Store, StoreAbilities, StoreHealth, StoreObserver, Waiter } from '../store.ts'
import { decideAcrossSlots } from './across-slots.ts'
import type { AskBatch, BatchOwner } from './ask-batch.ts'
import { redisContinuity } from './continuity.ts'
import { EvictionWatch } from './eviction-watch.ts'
import { keysUnder } from './keys.ts'
import { startBatch } from './lone-take.ts'

/** The connection options are for a client; a handle has its own. */
export interface RedisStoreOptions extends RedisOptions {
  /** The start of every Redis key. */
  readonly prefix?: string
}

/**
 * Keeps counters in Redis or Valkey, exactly across all replicas. Takes a handle of `openRedis`, or the service's own
 * client (ioredis or node-redis; standalone, Sentinel or Cluster), and then opens a connection like it whose options
 * make counting safe.
 *
 * @example createLimiter({ policy, store: redisStore(new Redis('redis://localhost')) })
 */
export function redisStore(redis: RedisClient | Redis, options: RedisStoreOptions = {}): Store {
  checkOptionNames('redisStore', options, ['prefix', ...redisOptionNames])
  const { prefix = defaultPrefix } = options
  if (typeof prefix !== 'string' || !/^[\x21-\x7e]{0,64}$/.test(prefix))
    throw invalidOption('redisStore.prefix', prefix, 'use at most 64 printable ASCII characters')
  const connection = connectionOptions(options, 'redisStore')
  return new RedisStore(() => useRedis(redis, connection, 'redisStore'), prefix)
}

class RedisStore implements Store {
  readonly name = 'redis'
  readonly abilities: StoreAbilities
  readonly #prefix: string
  readonly #open: () => UsedRedis
  readonly #keyOf: (charge: Charge) => string
  readonly #deadlines: Deadlines
  readonly #batcher: TickBatcher<Ask, Waiter, AskBatch>
  #used: UsedRedis | undefined
  readonly #observers = new Observers()
  readonly #evictions: EvictionWatch
  #users = 0
  #closed = false

  constructor(open: () => UsedRedis, prefix: string) {
    this.#keyOf = keysUnder(prefix)
    this.abilities = {
      keepsDeadlines: true,
      submit: (ask, withinMs, waiter) => this.#submit(ask, withinMs, waiter),
      continuity: redisContinuity(prefix, this.#keyOf, () => this.#redis.redis),
      lendRedis: () => this.#lend(),
    }
    this.#open = open
    this.#prefix = prefix
    const { clock } = this.#redis.redis.options
    this.#deadlines = new Deadlines(clock)
    this.#evictions = new EvictionWatch(
      () => this.#redis.redis,
      clock,
      (keys) => this.#observers.evicted(keys),
    )
    const owner: BatchOwner = {
      keyOf: this.#keyOf,
      replied: (asks, tookMs) => this.#observers.roundTrip(asks, tookMs),
      ended: () => this.#batcher.ended(),
    }
    this.#batcher = new TickBatcher({
      make: (slot, withinMs, ask, waiter) => startBatch(slot, clock.monotonic(), withinMs, owner, ask, waiter),
      send: (batch) => this.#redis.redis.run(batch),
    })
    this.#redis.redis.connect()
  }

  watch(observer: StoreObserver): () => void {
    const stop = this.#observers.add(observer)
    if (!this.#closed) this.#evictions.start()
    return () => {
      stop()
      if (this.#observers.isEmpty) this.#evictions.stop()
    }
  }

  /**
   * The store has a connection while limiters use it. It is released after the last one, and opened again with the next
   * ask.
   */
  use(): () => Promise<void> {
    this.#users += 1
    if (!this.#closed) this.#redis.redis.connect()
    let isOver = false
    return async () => {
      if (isOver) return
      isOver = true
      this.#users -= 1
      if (this.#users > 0) return
      await this.#batcher.drain()
      if (this.#users === 0) await this.#letGo()
    }
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    return new Promise((answered, failed) => {
      this.#submit(ask, withinMs, { answered, failed })
    })
  }

  #submit(ask: Ask, withinMs: number, waiter: Waiter): undefined {
    if (this.#closed) throw closed()
    if (!this.#redis.redis.isCluster) this.#batcher.add(noSlot, withinMs, ask, waiter)
    else this.#submitToCluster(ask, withinMs, waiter)
  }

  async health(withinMs: number): Promise<StoreHealth> {
    if (this.#closed) return { reachable: false, roundTripMs: 0, warnings: [closed().message], details: {} }
    const { redis, release } = this.#open()
    try {
      return await redis.health(withinMs)
    } finally {
      await release()
    }
  }

  /** Waits for what was asked before, which is until the last deadline at the latest. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#evictions.stop()
    await this.#batcher.drain()
    this.#deadlines.close()
    await this.#letGo()
  }

  #lend(): LentRedis {
    if (this.#closed) throw closed()
    return { ...this.#open(), prefix: this.#prefix }
  }

  async #letGo(): Promise<void> {
    const used = this.#used
    this.#used = undefined
    await used?.release()
  }

  get #redis(): UsedRedis {
    this.#used ??= this.#open()
    return this.#used
  }

  #submitToCluster(ask: Ask, withinMs: number, waiter: Waiter): void {
    const slots = ask.charges.map((charge) => slotOf(this.#keyOf(charge)))
    if (slots.every((slot) => slot === slots[0])) {
      this.#batcher.add(slots[0]!, withinMs, ask, waiter)
      return
    }
    const { clock } = this.#redis.redis.options
    const endMs = clock.monotonic() + withinMs
    decideAcrossSlots(ask, {
      slotOf: (charge) => slotOf(this.#keyOf(charge)),
      decide: (part) =>
        new Promise((answered, failed) => {
          this.#batcher.add(slotOf(this.#keyOf(part.charges[0]!)), withinMs, part, { answered, failed })
        }),
      inTime: (work) => this.#deadlines.inTime(work, endMs, () => undefined).catch(() => undefined),
      clock,
      random: Math.random,
      id: randomUUID,
    }).then(
      (answer) => waiter.answered(answer),
      (error) => waiter.failed(error),
    )
  }
}

function closed(): StoreError {
  return new StoreError('closed', 'The Redis store is closed.')
}
