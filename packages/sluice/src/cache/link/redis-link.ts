import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { SluiceError } from '../../core/errors.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Redis } from '../../redis/redis.ts'
import { TickBatcher } from '../../redis/runner/tick-batcher.ts'
import type { Script } from '../../redis/script.ts'
import { noSlot } from '../../redis/slots.ts'
import type { Invalidation, LogReply, Position } from '../protocol/messages.ts'
import type { CacheLink, ClaimReply, ReadWaiter, StoredValue } from './cache-link.ts'
import { type CacheKeys, cacheKeys } from './keys.ts'
import { parseMessage } from './message.ts'
import { ReadBatch } from './read-batch.ts'
import { bump, claim, constants, forget, keepClaim, store, sync } from './scripts.gen.ts'
import { StoredCopyBytes } from './stored-value.ts'

export interface RedisLinkOptions {
  readonly prefix: string
  readonly maxScopes: number
  readonly maxKeys: number
  readonly clock: Clock
  readonly release: () => Promise<void>
}

/**
 * Replies may be large, so they go over a socket of their own. All of the cache's calls do: what it proves is about
 * that socket.
 */
const lane = 'values'
/**
 * How long Redis waits for replicas at a time. It answers nothing else on the socket meanwhile; asked in one piece, all
 * reads would wait too, and the socket be taken for dead.
 */
const waitMs = 20
/** More keys than this are removed by several calls. */
const keysPerCall = 1000

/** The cache's link to Redis, over a shared handle. */
export class RedisLink implements CacheLink {
  readonly #redis: Redis
  readonly #options: RedisLinkOptions
  readonly #keys: CacheKeys
  readonly #nonce = randomBytes(6).toString('hex')
  readonly #reads: TickBatcher<string, ReadWaiter, ReadBatch>
  #calls = 0

  constructor(redis: Redis, options: RedisLinkOptions) {
    this.#redis = redis
    this.#options = options
    this.#keys = cacheKeys(options.prefix)
    const ended = (): void => this.#reads.ended()
    this.#reads = new TickBatcher({
      make: (slot, withinMs) => new ReadBatch(slot, withinMs, options.clock.monotonic(), ended),
      send: (batch) => redis.run(batch, lane),
    })
  }

  get connection(): number {
    return this.#redis.connection(lane)
  }

  read(keys: readonly string[], withinMs: number): Promise<(StoredValue | undefined)[]> {
    return new Promise((resolve, reject) => {
      const found: (StoredValue | undefined)[] = new Array(keys.length).fill(undefined)
      let waiting = keys.length
      if (waiting === 0) resolve(found)
      keys.forEach((key, index) => {
        const done = (stored: StoredValue | undefined): void => {
          found[index] = stored
          waiting -= 1
          if (waiting === 0) resolve(found)
        }
        this.readOne(key, withinMs, { resolve: done, reject })
      })
    })
  }

  readOne(encoded: string, withinMs: number, waiter: ReadWaiter): void {
    const key = this.#keys.value(encoded)
    const slot = this.#redis.isCluster ? this.#redis.slotOf(key) : noSlot
    this.#reads.add(slot, Math.ceil(withinMs), key, waiter)
  }

  async claim(
    encoded: string,
    token: string,
    claimMs: number,
    rejected: string,
    withinMs: number,
  ): Promise<ClaimReply> {
    const keys = [this.#keys.value(encoded), this.#keys.claim(encoded)]
    const { reply, nowUs } = await this.#run(claim, keys, [token, whole(claimMs), rejected], withinMs)
    switch (reply.read()) {
      case constants.STORED:
        return { kind: 'stored', stored: StoredCopyBytes.whole(reply.bytes()!, nowUs) }
      case constants.GRANTED:
        return { kind: 'granted' }
      default:
        return { kind: 'held', forMs: Number(reply.read()) }
    }
  }

  async renew(encoded: string, token: string, claimMs: number, withinMs: number): Promise<boolean> {
    const { reply } = await this.#run(keepClaim, [this.#keys.claim(encoded)], [token, whole(claimMs)], withinMs)
    return reply.read() === 1
  }

  async release(encoded: string, token: string, withinMs: number): Promise<void> {
    await this.#run(keepClaim, [this.#keys.claim(encoded)], [token, '0'], withinMs)
  }

  async store(
    encoded: string,
    token: string | undefined,
    bytes: Buffer,
    keepMs: number,
    withinMs: number,
    stamp?: Position,
  ): Promise<boolean> {
    const keys = [this.#keys.value(encoded), this.#keys.claim(encoded)]
    const args = [token ?? '', bytes, keepMs === Infinity ? '0' : whole(keepMs)]
    const position = [stamp?.generation ?? '', String(stamp?.sequence ?? 0)]
    const { reply } = await this.#run(store, keys, [...args, ...position], withinMs)
    return reply.read() === 1
  }

  async invalidate(scopes: readonly string[], wait: number, withinMs: number): Promise<Invalidation> {
    const endMs = this.#options.clock.monotonic() + withinMs
    const left = (): number => Math.max(1, endMs - this.#options.clock.monotonic())
    // The keys go first: whoever learns of the invalidation must not find the old copies any more.
    await this.#forget(scopes, withinMs)
    const { channel, log } = this.#keys
    const { maxKeys, maxScopes } = this.#options
    const args = [channel, this.#newNonce(), String(maxKeys), String(maxScopes), ...scopes]
    const { reply } = await this.#run(bump, log, args, left())
    const message = { generation: String(reply.read()), sequence: Number(reply.read()), scopes }
    if (wait > 0) await this.#wait(wait, left)
    return message
  }

  async sync(position: Position | undefined, withinMs: number, refused = ''): Promise<LogReply> {
    const args = [position?.generation ?? '', String(position?.sequence ?? 0), this.#newNonce(), refused]
    const { reply } = await this.#run(sync, this.#keys.log, args, withinMs)
    const generation = String(reply.read())
    const [sequence, since, keyFloor, scopeFloor] = [reply.read(), reply.read(), reply.read(), reply.read()].map(Number)
    const flat = reply.read() as (string | number)[]
    const changes: [string, number][] = []
    for (let i = 0; i < flat.length; i += 2) changes.push([String(flat[i]), Number(flat[i + 1])])
    return {
      ...{ generation, sequence: sequence!, keyFloor: keyFloor!, scopeFloor: scopeFloor!, changes },
      since: since! < 0 ? undefined : since,
    }
  }

  subscribe(listener: (message: Invalidation) => void, interrupted: () => void): () => void {
    return this.#redis.subscribe(this.#keys.channel, {
      message: (text) => {
        const message = parseMessage(text)
        if (message) listener(message)
      },
      ready: interrupted,
    })
  }

  async close(): Promise<void> {
    await this.#reads.drain()
    await this.#options.release()
  }

  async #forget(scopes: readonly string[], withinMs: number): Promise<void> {
    const bySlot = new Map<number, string[]>()
    for (const scope of scopes) {
      if (!scope.startsWith('k:')) continue
      const encoded = scope.slice(2)
      const value = this.#keys.value(encoded)
      const slot = this.#redis.isCluster ? this.#redis.slotOf(value) : noSlot
      const keys = bySlot.get(slot) ?? []
      bySlot.set(slot, keys)
      keys.push(value, this.#keys.claim(encoded))
    }
    const calls = [...bySlot.values()].flatMap((keys) =>
      Array.from({ length: Math.ceil(keys.length / keysPerCall) }, (_, i) =>
        this.#run(forget, keys.slice(i * keysPerCall, (i + 1) * keysPerCall), [], withinMs),
      ),
    )
    await Promise.all(calls)
  }

  /** Waits until so many replicas have what was written over the present connection. */
  async #wait(replicas: number, left: () => number): Promise<void> {
    const { connection } = this
    let received = 0
    do {
      const words = ['WAIT', String(replicas), whole(Math.min(waitMs, left()))]
      const reply = await this.#redis.command(words, { key: this.#keys.log[0], withinMs: left() + waitMs, lane })
      // Over a new connection nothing was written, so all replicas would have all of it.
      if (this.connection !== connection) break
      received = Number(reply)
      if (received >= replicas) return
    } while (left() > 1)
    throw new SluiceError('SLUICE_STORE_FAILED', `only ${received} of ${replicas} replicas have the invalidation`, {
      transient: true,
    })
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

const whole = (ms: number): string => String(Math.max(1, Math.ceil(ms)))
