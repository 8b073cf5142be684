import type { StoreError } from '../../core/errors.ts'
import type { RedisArgument } from '../../redis/connection/connection.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import { type TickBatch, TickBatcher } from '../../redis/runner/tick-batcher.ts'
import { type CacheRedis, keepText, millisText } from './cache-redis.ts'
import { keepLock, store } from './scripts.gen.ts'

/** With larger calls, Redis would answer nobody else for too long. */
const maxKeys = 64
const maxBytes = 256 * 1024
/** Callers do not wait until a value is stored, so those of a millisecond share a call. */
const gatherMs = 1

/** One value to store under a fill lock. */
interface StoreItem {
  readonly encoded: string
  readonly token: string
  readonly copy: string | Buffer
  /** How long it is kept (ms); 0 for no expiry. */
  readonly keepMs: string
}

/** Receives when the value was stored, by the clock of Redis; 0 when the lock was lost. */
interface StoreWaiter {
  resolve(id: number): void
  reject(error: unknown): void
}

/** What the holder of a fill lock sends: the value, which ends the lock, or that it keeps or releases the lock. */
export class Stores {
  readonly #redis: CacheRedis
  readonly #lockText: string
  readonly #batches: TickBatcher<StoreItem, StoreWaiter, StoreBatch>

  /** `lockMs` is how long a lock is held unless it is renewed. */
  constructor(redis: CacheRedis, lockMs: number) {
    this.#redis = redis
    this.#lockText = millisText(lockMs)
    this.#batches = new TickBatcher({
      make: (slot, withinMs) => new StoreBatch(redis, slot, withinMs, () => this.#batches.ended()),
      send: (batch) => batch.send(),
      gather: { ms: gatherMs, clock: redis.clock },
    })
  }

  /** Stores a value and ends the lock. Returns when, by the clock of Redis; 0 when the lock was lost. */
  store(encoded: string, token: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<number> {
    const slot = this.#redis.slotOf(this.#redis.value(encoded))
    const item = { encoded, token, copy, keepMs: keepText(keepMs) }
    const add = (): Promise<number> =>
      new Promise((resolve, reject) => this.#batches.add(slot, Math.ceil(withinMs), item, { resolve, reject }))
    return this.#redis.inTurn(add)
  }

  /** Keeps a lock for longer; false when it is lost. */
  renew(encoded: string, token: string, withinMs: number): Promise<boolean> {
    return this.#keepLock(encoded, token, this.#lockText, withinMs)
  }

  async release(encoded: string, token: string, withinMs: number): Promise<void> {
    await this.#keepLock(encoded, token, '0', withinMs)
  }

  /** Sends at once what is gathered. */
  flush(): void {
    this.#batches.flush()
  }

  drain(): Promise<void> {
    return this.#batches.drain()
  }

  async #keepLock(encoded: string, token: string, forMs: string, withinMs: number): Promise<boolean> {
    const args = [token, forMs, this.#redis.channel, this.#redis.value(encoded)]
    const { reply } = await this.#redis.runScript(keepLock, [this.#redis.lock(encoded)], args, withinMs)
    return reply.read() === 1
  }
}

/** The values that are stored together, per cluster slot. */
class StoreBatch implements TickBatch<StoreItem, StoreWaiter>, ScriptCall {
  readonly script: typeof store = store
  readonly keys: string[] = []
  readonly slot: number
  readonly withinMs: number
  deadlineMs = Infinity
  readonly isEnoughToStart = false
  readonly #redis: CacheRedis
  readonly #args: RedisArgument[]
  readonly #waiters: StoreWaiter[] = []
  readonly #ended: () => void
  #bytes = 0

  constructor(redis: CacheRedis, slot: number, withinMs: number, ended: () => void) {
    this.slot = slot
    this.withinMs = withinMs
    this.#redis = redis
    this.#args = [redis.channel]
    this.#ended = ended
  }

  get size(): number {
    return this.#waiters.length
  }

  get isFull(): boolean {
    return this.#waiters.length >= maxKeys || this.#bytes >= maxBytes
  }

  add({ encoded, token, copy, keepMs }: StoreItem, waiter: StoreWaiter): void {
    this.keys.push(this.#redis.value(encoded), this.#redis.lock(encoded))
    this.#args.push(token, copy, keepMs)
    this.#waiters.push(waiter)
    this.#bytes += copy.length
  }

  /** The deadline counts from here: to encode what is gathered takes time. */
  send(): void {
    this.deadlineMs = this.#redis.clock.monotonic() + this.withinMs
    this.#redis.run(this)
  }

  args(): readonly RedisArgument[] {
    return this.#args
  }

  settle(reply: MsgpackReader, nowUs: number): void {
    this.#ended()
    const stored = reply.read() as number[]
    for (const [index, waiter] of this.#waiters.entries()) waiter.resolve(stored[index] === 1 ? nowUs : 0)
  }

  fail(error: StoreError): void {
    this.#ended()
    for (const waiter of this.#waiters) waiter.reject(error)
  }
}
