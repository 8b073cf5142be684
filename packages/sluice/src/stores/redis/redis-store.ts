import { randomUUID } from 'node:crypto'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { TickBatcher } from '../../redis/runner/tick-batcher.ts'
import type { SharedRedis } from '../../redis/shared-redis.ts'
import { noSlot, slotOf } from '../../redis/slots.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { Observers } from '../observers.ts'
import type { AnswerCallback, Store, StoreAbilities, StoreHealth, StoreObserver } from '../store.ts'
import { decideAcrossSlots } from './across-slots.ts'
import { Batch, type BatchOwner } from './batch.ts'
import { redisContinuity, redisLossMark } from './continuity.ts'
import { EvictionWatch } from './eviction-watch.ts'
import { keysUnder } from './keys.ts'
import { redisLine } from './redis-line.ts'

/**
 * Keeps counters in Redis or Valkey, exactly across all replicas. One per handle, shared by its limiters.
 *
 *     submit -> TickBatcher: all asks of one turn, by slot -> Batch -> SharedRedis, ScriptRunner: deadline, server time
 *                                                              |
 *               takes under windows or a pace: FastTakes.encode -> fast-takes.lua
 *               anything else: AskList, sets and asks           -> the rest of decide.lua
 *                                                              |
 *     callback <- Batch.settle: FastTakes.replay, or replay <- the states before, and how much was granted
 *
 * Where a subject of a fast call has holds or other limits, the script makes the general form of it and decides that;
 * the client notices by the states.
 */
export class RedisStore implements Store {
  readonly name = 'redis'
  readonly abilities: StoreAbilities
  readonly #redis: SharedRedis
  readonly #keyOf: (charge: Charge) => string
  readonly #deadlines: Deadlines
  readonly #batcher: TickBatcher<Ask, AnswerCallback, Batch>
  /** Ends the use of the sockets; undefined while no limiter uses the store. */
  #release: (() => Promise<void>) | undefined
  readonly #observers = new Observers()
  readonly #evictions: EvictionWatch
  #users = 0
  #closed = false

  constructor(redis: SharedRedis, prefix: string) {
    const { clock } = redis
    this.#redis = redis
    this.#keyOf = keysUnder(prefix)
    this.abilities = {
      keepsDeadlines: true,
      submit: (ask, withinMs, callback) => this.#submit(ask, withinMs, callback),
      continuity: redisContinuity(prefix, this.#keyOf, () => redis),
      lossMark: redisLossMark(prefix, this.#keyOf, () => redis),
      line: redisLine(prefix, () => redis),
    }
    this.#deadlines = new Deadlines(clock)
    this.#evictions = new EvictionWatch(
      () => redis,
      clock,
      (keys) => this.#observers.evicted(keys),
    )
    const owner: BatchOwner = {
      keyOf: this.#keyOf,
      replied: (asks, tookMs) => this.#observers.roundTrip(asks, tookMs),
      ended: () => this.#batcher.ended(),
    }
    this.#batcher = new TickBatcher({
      make: (slot, withinMs) => new Batch(slot, clock.monotonic() + withinMs, withinMs, owner),
      send: (batch) => redis.run(batch),
    })
  }

  watch(observer: StoreObserver): () => void {
    const stop = this.#observers.add(observer)
    if (!this.#closed) this.#evictions.start()
    return () => {
      stop()
      if (this.#observers.isEmpty) this.#evictions.stop()
    }
  }

  /** The store keeps the sockets of its handle open while limiters use it. */
  use(): () => Promise<void> {
    if (!this.#closed) {
      this.#hold()
      // Now, so that the first decision need not wait for it.
      this.#redis.connect()
    }
    this.#users += 1
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

  /** Whether limiters use it. */
  get isUsed(): boolean {
    return this.#users > 0
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    return new Promise((answered, failed) => {
      this.#submit(ask, withinMs, { answered, failed })
    })
  }

  #submit(ask: Ask, withinMs: number, callback: AnswerCallback): undefined {
    if (this.#closed) throw closed()
    if (this.#release === undefined) this.#hold()
    if (!this.#redis.isCluster) this.#batcher.add(noSlot, withinMs, ask, callback)
    else this.#submitToCluster(ask, withinMs, callback)
  }

  async health(withinMs: number): Promise<StoreHealth> {
    if (this.#closed) return { reachable: false, roundTripMs: 0, warnings: [closed().message], details: {} }
    const release = this.#redis.use()
    try {
      return await this.#redis.health(withinMs)
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

  /** Keeps the sockets open until the last user has gone, or, of a store that is asked directly, until it is closed. */
  #hold(): void {
    this.#release ??= this.#redis.use()
  }

  async #letGo(): Promise<void> {
    const release = this.#release
    this.#release = undefined
    await release?.()
  }

  #submitToCluster(ask: Ask, withinMs: number, callback: AnswerCallback): void {
    const slots = ask.charges.map((charge) => slotOf(this.#keyOf(charge)))
    if (slots.every((slot) => slot === slots[0])) {
      this.#batcher.add(slots[0]!, withinMs, ask, callback)
      return
    }
    const { clock } = this.#redis
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
      (answer) => callback.answered(answer),
      (error) => callback.failed(error),
    )
  }
}

function closed(): StoreError {
  return new StoreError('closed', 'The Redis store is closed.')
}
