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
import { Deadlines } from '../../timing/deadlines.ts'
import type { CallbackStore, Waiter } from '../callback-store.ts'
import type { Store, StoreHealth, StoreObserver } from '../store.ts'
import { decideAcrossSlots } from './across-slots.ts'
import { Batch, type BatchOwner } from './batch.ts'
import { keysUnder } from './keys.ts'

/** The connection options are for a client; a handle has its own. */
export interface RedisStoreOptions extends RedisOptions {
  /** The start of every Redis key. */
  readonly prefix?: string
}

/**
 * Keeps counters in Redis or Valkey, exactly across all replicas. Takes a handle of `openRedis`, or the service's own client (ioredis or
 * node-redis; standalone, Sentinel or Cluster), and then opens a connection like it whose options make counting safe.
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

class RedisStore implements CallbackStore {
  readonly name = 'redis'
  readonly keepsDeadlines = true
  readonly #open: () => UsedRedis
  readonly #keyOf: (charge: Charge) => string
  readonly #deadlines = new Deadlines()
  readonly #batcher: TickBatcher<Ask, Waiter, Batch>
  #used: UsedRedis | undefined
  #observer: StoreObserver | undefined
  #closed = false

  constructor(open: () => UsedRedis, prefix: string) {
    this.#open = open
    this.#keyOf = keysUnder(prefix)
    const owner: BatchOwner = {
      keyOf: this.#keyOf,
      replied: (asks, tookMs) => this.#observer?.roundTrip?.(asks, tookMs),
      ended: () => this.#batcher.ended(),
    }
    this.#batcher = new TickBatcher({
      make: (slot, withinMs) => new Batch(slot, performance.now() + withinMs, withinMs, owner),
      send: (batch) => this.#redis.redis.run(batch),
    })
    this.#redis.redis.connect()
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    return new Promise((answered, failed) => {
      this.submit(ask, withinMs, { answered, failed })
    })
  }

  submit(ask: Ask, withinMs: number, waiter: Waiter): undefined {
    if (this.#closed) throw new StoreError('closed', 'The Redis store is closed.')
    if (!this.#redis.redis.isCluster) this.#batcher.add(noSlot, withinMs, ask, waiter)
    else this.#submitToCluster(ask, withinMs, waiter)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#redis.redis.health(withinMs)
  }

  /** Waits for what was asked before, which is until the last deadline at the latest. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#batcher.drain()
    this.#deadlines.close()
    await this.#used?.release()
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
    const endMs = performance.now() + withinMs
    decideAcrossSlots(ask, {
      slotOf: (charge) => slotOf(this.#keyOf(charge)),
      decide: (part) =>
        new Promise((answered, failed) => {
          this.#batcher.add(slotOf(this.#keyOf(part.charges[0]!)), withinMs, part, { answered, failed })
        }),
      inTime: (work) => this.#deadlines.inTime(work, endMs),
      id: randomUUID,
    }).then(
      (answer) => waiter.answered(answer),
      (error) => waiter.failed(error),
    )
  }
}
