import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { SluiceError } from '../../core/errors.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Redis } from '../../redis/redis.ts'
import { TickBatcher } from '../../redis/runner/tick-batcher.ts'
import type { Script } from '../../redis/script.ts'
import { noSlot, slotOf } from '../../redis/slots.ts'
import { Gate } from '../../runtime/gate.ts'
import { inPortions } from '../portions.ts'
import type { Bumped, LogReply, Position } from '../protocol/messages.ts'
import { stampCopy } from '../values/stored-copy.ts'
import type { StoredValue } from '../values/stored-value.ts'
import type { CacheLink, LinkSubscriber, LookupWaiter, SetReply } from './cache-link.ts'
import { type CacheKeys, cacheKeys } from './keys.ts'
import { readLog, readPosition } from './log-reply.ts'
import { LookupBatch, type LookupItem } from './lookup-batch.ts'
import { receive } from './message.ts'
import { ReadBatch, type ReadWaiter } from './read-batch.ts'
import { beginSet, bump, endSet, forget, keepLock, set, sync } from './scripts.gen.ts'
import { type SetItem, SetQueue } from './set-queue.ts'
import { StoreQueue } from './store-queue.ts'
import { waitForReplicas } from './wait-for-replicas.ts'

export interface RedisLinkOptions {
  readonly prefix: string
  readonly maxScopes: number
  readonly maxKeys: number
  /** How long a fill lock is held unless it is renewed. */
  readonly lockMs: number
  /** How long a proof of this process holds. */
  readonly proofMs: number
  readonly clock: Clock
  readonly release: () => Promise<void>
}

/** Replies may be large, so they use a separate socket. All calls of the cache do: its proofs are about that socket. */
const lane = 'values'
/** More keys than this are removed by several calls; an even number, as they come in pairs. */
const keysPerCall = 1000

/**
 * From how many keys on they are read by MGET and TIME, which cost Redis a seventh of the script. For fewer, the second
 * command costs more than it saves.
 */
const plainFrom = 8
/** How many values are written at a time; the others wait in this process. */
const maxWrites = 256
/** How often a set is tried again after other writers came in between. */
const setAttempts = 5

/** The cache's link to Redis, over a shared handle. */
export class RedisLink implements CacheLink {
  readonly #redis: Redis
  readonly #options: RedisLinkOptions
  readonly #keys: CacheKeys
  readonly #nonce = randomBytes(6).toString('hex')
  readonly #reads: TickBatcher<string, ReadWaiter, ReadBatch>
  readonly #lookups: TickBatcher<LookupItem, LookupWaiter, LookupBatch>
  readonly #stores: StoreQueue
  readonly #sets = new SetQueue((items) => this.#set(items))
  readonly #writes: Gate
  /** Whether the last lookups all found a copy: then the next are likely to, and plain commands cost less. */
  #found = false
  #calls = 0

  constructor(redis: Redis, options: RedisLinkOptions) {
    this.#redis = redis
    this.#options = options
    this.#keys = cacheKeys(options.prefix)
    const endMs = (withinMs: number): number => options.clock.monotonic() + withinMs
    this.#reads = new TickBatcher({
      make: (slot, withinMs) => new ReadBatch(slot, withinMs, endMs(withinMs), () => this.#reads.ended()),
      send: (batch) => {
        if (this.#isPlain(batch.size)) redis.read(batch, lane)
        else redis.run(batch, lane)
      },
    })
    const context = {
      lockMs: Math.max(1, Math.ceil(options.lockMs)),
      newToken: () => this.#newNonce(),
      lock: (batch: LookupBatch) => redis.run(batch, lane),
      ended: (found: boolean) => {
        this.#found = found
        this.#lookups.ended()
      },
    }
    this.#lookups = new TickBatcher({
      make: (slot, withinMs) => new LookupBatch(slot, withinMs, endMs(withinMs), context),
      send: (batch) => {
        const readFirst = batch.mayReadFirst && (this.#found ? !redis.isCluster : this.#isPlain(batch.size))
        if (readFirst) redis.read(batch.asRead(), lane)
        else redis.run(batch, lane)
      },
    })
    const refusal = (): SluiceError => new SluiceError('SLUICE_REFUSED', 'too many writes wait')
    this.#writes = new Gate({ limit: maxWrites, queue: Infinity, clock: options.clock, refusal })
    this.#stores = new StoreQueue(redis, options.clock, this.#keys.channel)
  }

  get connection(): number {
    return this.#redis.connection(lane)
  }

  read(keys: readonly string[], withinMs: number): Promise<(StoredValue | undefined)[]> {
    return new Promise((resolve, reject) => {
      const found: (StoredValue | undefined)[] = new Array(keys.length).fill(undefined)
      let waiting = keys.length
      if (waiting === 0) resolve(found)
      keys.forEach((encoded, index) => {
        const done = (stored: StoredValue | undefined): void => {
          found[index] = stored
          waiting -= 1
          if (waiting === 0) resolve(found)
        }
        const key = this.#keys.value(encoded)
        this.#reads.add(this.#slotOf(key), Math.ceil(withinMs), key, { resolve: done, reject })
      })
    })
  }

  readOrLock(encoded: string, rejected: Buffer, withinMs: number, waiter: LookupWaiter): void {
    const value = this.#keys.value(encoded)
    const item = { value, lock: this.#keys.lock(encoded), rejected }
    this.#lookups.add(this.#slotOf(value), Math.ceil(withinMs), item, waiter)
  }

  async renew(encoded: string, token: string, withinMs: number): Promise<boolean> {
    return this.#keepLock(encoded, token, whole(this.#options.lockMs), withinMs)
  }

  async release(encoded: string, token: string, withinMs: number): Promise<void> {
    await this.#keepLock(encoded, token, '0', withinMs)
  }

  store(encoded: string, token: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<number> {
    const value = this.#keys.value(encoded)
    const item = { value, lock: this.#keys.lock(encoded), token, copy, keepMs: keepText(keepMs) }
    return this.#inTurn(() => this.#stores.store(this.#slotOf(value), Math.ceil(withinMs), item))
  }

  set(encoded: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<SetReply> {
    if (this.#redis.isCluster) return this.#inTurn(() => this.#setInSteps(encoded, copy, keepMs, withinMs))
    return this.#sets.set({ encoded, copy, keepMs: keepText(keepMs), withinMs })
  }

  async #set(items: readonly SetItem[]): Promise<SetReply> {
    const { value, lock, log } = this.#keys
    const scopes = items.map(({ encoded }) => `k:${encoded}`)
    const keys = [...log, ...items.flatMap(({ encoded }) => [value(encoded), lock(encoded)])]
    const args = [...this.#bumpArgs([]), ...items.flatMap(({ copy, keepMs }, i) => [scopes[i]!, copy, keepMs])]
    const { reply, nowUs } = await this.#run(set, keys, args, items[0]!.withinMs)
    return { message: readPosition(reply, scopes), id: nowUs }
  }

  async invalidate(scopes: readonly string[], withinMs: number): Promise<Bumped> {
    const left = this.#countdown(withinMs)
    // The keys are removed first: a process that receives the invalidation must not find the old copies any more.
    await this.#forget(scopes, withinMs)
    return this.#bump(scopes, left())
  }

  async sync(position: Position | undefined, withinMs: number, refused = ''): Promise<LogReply> {
    const { generation = '', sequence = 0 } = position ?? {}
    const args = [generation, String(sequence), this.#newNonce(), refused, whole(this.#options.proofMs)]
    const { reply } = await this.#run(sync, this.#keys.log, args, withinMs)
    return readLog(reply)
  }

  subscribe(subscriber: LinkSubscriber): () => void {
    return this.#redis.subscribe(this.#keys.channel, {
      message: (text) => receive(text, this.#keys, subscriber),
      ready: () => subscriber.interrupted(),
    })
  }

  async isReachable(withinMs: number): Promise<boolean> {
    const ping = this.#redis.command(['PING'], { key: this.#keys.log[0], withinMs, lane })
    return ping.then(
      () => true,
      () => false,
    )
  }

  flush(): void {
    this.#stores.flush()
  }

  async close(): Promise<void> {
    await Promise.all([this.#reads.drain(), this.#lookups.drain(), this.#stores.drain()])
    await this.#options.release()
  }

  async #forget(scopes: readonly string[], withinMs: number): Promise<void> {
    const bySlot = new Map<number, string[]>()
    for (const scope of scopes) {
      if (!scope.startsWith('k:')) continue
      const encoded = scope.slice(2)
      const value = this.#keys.value(encoded)
      const slot = this.#slotOf(value)
      const keys = bySlot.get(slot) ?? []
      bySlot.set(slot, keys)
      keys.push(value, this.#keys.lock(encoded))
    }
    const portions = [...bySlot.values()].flatMap((keys) => inPortions(keys, keysPerCall))
    await Promise.all(portions.map((keys) => this.#run(forget, keys, [], withinMs)))
  }

  waitForReplicas(replicas: number, withinMs: number): Promise<void> {
    const wait = (words: readonly string[], ms: number): Promise<unknown> =>
      this.#redis.command(words, { key: this.#keys.log[0], withinMs: ms, lane })
    return waitForReplicas(replicas, this.#countdown(withinMs), () => this.connection, wait)
  }

  /**
   * Sets where the log is on another node than the value: takes the fill lock of the key, records the invalidation, and
   * stores under the lock. Any other change of the key in between ends the lock; then it begins again.
   */
  async #setInSteps(encoded: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<SetReply> {
    const left = this.#countdown(withinMs)
    const keys = [this.#keys.value(encoded), this.#keys.lock(encoded)]
    for (let attempt = 1; attempt <= setAttempts; attempt++) {
      const { connection } = this
      const token = `set.${this.#newNonce()}`
      // Longer than the steps may take, so that no other process fetches between them.
      await this.#run(beginSet, keys, [token, whole(withinMs * 2)], left())
      // A new connection may lead to a server that took over without the lock.
      if (this.connection !== connection) continue
      const message = await this.#bump([`k:${encoded}`], left())
      const { generation, sequence } = message
      const stamped = stampCopy(copy, generation, sequence)
      const args = [token, this.#keys.channel, stamped, keepText(keepMs), generation, String(sequence)]
      const { reply, nowUs } = await this.#run(endSet, keys, args, left())
      if (reply.read() === 1) return { message, id: nowUs }
    }
    throw new SluiceError('SLUICE_STORE_FAILED', 'the connection was lost, or others set the key again and again', {
      transient: true,
    })
  }

  async #bump(scopes: readonly string[], withinMs: number): Promise<Bumped> {
    const { reply } = await this.#run(bump, this.#keys.log, this.#bumpArgs(scopes), withinMs)
    return { ...readPosition(reply, scopes), longestProofMs: Number(reply.read()) }
  }

  #bumpArgs(scopes: readonly string[]): string[] {
    const { maxKeys, maxScopes } = this.#options
    return [this.#keys.channel, this.#newNonce(), String(maxKeys), String(maxScopes), ...scopes]
  }

  async #keepLock(encoded: string, token: string, forMs: string, withinMs: number): Promise<boolean> {
    const args = [token, forMs, this.#keys.channel, this.#keys.value(encoded)]
    const { reply } = await this.#run(keepLock, [this.#keys.lock(encoded)], args, withinMs)
    return reply.read() === 1
  }

  /** Writes when its turn comes: the deadline of a write counts from when it is sent. */
  async #inTurn<T>(write: () => Promise<T>): Promise<T> {
    // After all others that are asked for in this step: to encode thousands of values takes longer than a deadline.
    await (this.#writes.tryEnter() ? undefined : this.#writes.turn())
    try {
      return await write()
    } finally {
      this.#writes.leave()
    }
  }

  #slotOf(key: string): number {
    return this.#redis.isCluster ? slotOf(key) : noSlot
  }

  /** Whether so many keys are read by plain commands. */
  #isPlain(keys: number): boolean {
    return keys >= plainFrom && !this.#redis.isCluster
  }

  /** How much of a time limit is left, in milliseconds; at least 1. */
  #countdown(withinMs: number): () => number {
    const { clock } = this.#options
    const endMs = clock.monotonic() + withinMs
    return () => Math.max(1, endMs - clock.monotonic())
  }

  #run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
    withinMs: number,
  ): Promise<{ readonly reply: MsgpackReader; readonly nowUs: number }> {
    return this.#redis.runScript({ script, keys, args, withinMs, lane })
  }

  #newNonce(): string {
    this.#calls += 1
    return `${this.#nonce}.${this.#calls}`
  }
}

const keepText = (ms: number): string => (ms === Infinity ? '0' : whole(ms))
const whole = (ms: number): string => String(Math.max(1, Math.ceil(ms)))
