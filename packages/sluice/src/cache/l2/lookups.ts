import type { StoreError } from '../../core/errors.ts'
import type { RedisArgument } from '../../redis/connection/connection.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { ReadCall } from '../../redis/runner/read-call.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import { type TickBatch, TickBatcher } from '../../redis/runner/tick-batcher.ts'
import { StoredValue } from '../values/stored-value.ts'
import { type CacheRedis, millisText } from './cache-redis.ts'
import { constants, lookUp } from './scripts.gen.ts'

/** With larger calls, Redis and this process would only wait for each other in turn. */
const maxKeys = 256
/** How many are worth a separate call while nothing else is in flight. */
const enough = 64
/**
 * From how many keys on they are read by MGET and TIME, which cost Redis a seventh of the script. For fewer, the second
 * command costs more than it saves.
 */
const plainFrom = 8

/**
 * What Redis answers to a lookup: the stored copy; `none`; `locked`, this process has the fill lock and must fetch; or
 * `held`, another process has it, for so long unless it renews it.
 */
export type LookupReply =
  | StoredValue
  | { readonly kind: 'none' }
  | { readonly kind: 'locked'; readonly token: string }
  | { readonly kind: 'held'; readonly forMs: number }

/** Receives the answer to a lookup: a callback, as most lookups need no promise of their own. */
export interface LookupWaiter {
  resolve(reply: LookupReply): void
  reject(error: unknown): void
}

/** One key to look up. */
interface LookupItem {
  readonly encoded: string
  /** Its key in Redis. */
  readonly value: string
  /** The beginning of a copy that counts as none; undefined to take no lock. */
  readonly rejected: Buffer | undefined
}

const none = { kind: 'none' } as const

/** Looks up keys in Redis, those of one turn of the event loop together. */
export class Lookups {
  readonly #redis: CacheRedis
  readonly #batches: TickBatcher<LookupItem, LookupWaiter, LookupBatch>
  /** Whether the last lookups all found a copy: then the next are likely to, and plain commands cost less. */
  #found = false

  /** `lockMs` is how long a fill lock is held unless it is renewed. */
  constructor(redis: CacheRedis, lockMs: number) {
    this.#redis = redis
    const lockText = millisText(lockMs)
    const ended = (found: boolean): void => {
      this.#found = found
      this.#batches.ended()
    }
    this.#batches = new TickBatcher({
      make: (slot, withinMs) => new LookupBatch(redis, slot, withinMs, lockText, ended),
      send: (batch) => {
        batch.begin()
        if (this.#readsFirst(batch)) redis.read(batch.asRead())
        else redis.run(batch)
      },
    })
  }

  /**
   * Reads a key, or takes its fill lock. A copy that begins with `rejected` counts as none; without `rejected` no lock
   * is taken.
   */
  add(encoded: string, rejected: Buffer | undefined, withinMs: number, waiter: LookupWaiter): void {
    const value = this.#redis.value(encoded)
    this.#batches.add(this.#redis.slotOf(value), Math.ceil(withinMs), { encoded, value, rejected }, waiter)
  }

  drain(): Promise<void> {
    return this.#batches.drain()
  }

  /** Whether plain commands come first. Few keys of one `getMany` cost this process less by the script. */
  #readsFirst({ mayReadFirst, takesLocks, size }: LookupBatch): boolean {
    const isLikelyHit = this.#found && (takesLocks || size === 1)
    return mayReadFirst && !this.#redis.isCluster && (isLikelyHit || size >= plainFrom)
  }
}

/** The lookups that are sent together, per cluster slot. */
class LookupBatch implements TickBatch<LookupItem, LookupWaiter>, ScriptCall {
  readonly script: typeof lookUp = lookUp
  readonly slot: number
  readonly withinMs: number
  deadlineMs = Infinity
  readonly #redis: CacheRedis
  readonly #lockText: string
  readonly #ended: (found: boolean) => void
  readonly #items: LookupItem[] = []
  readonly #waiters: LookupWaiter[] = []
  #keys: string[] | undefined
  #token = ''
  #rejects = false
  #takesLocks = false

  /** `ended` is called at the end, with whether every key had a copy. */
  constructor(redis: CacheRedis, slot: number, withinMs: number, lockText: string, ended: (found: boolean) => void) {
    this.slot = slot
    this.withinMs = withinMs
    this.#redis = redis
    this.#lockText = lockText
    this.#ended = ended
  }

  get size(): number {
    return this.#items.length
  }

  /** Pairs of a value and its lock; made when the script is called, as plain commands need no locks. */
  get keys(): readonly string[] {
    if (this.#keys !== undefined) return this.#keys
    this.#keys = []
    for (const { encoded, value } of this.#items) this.#keys.push(value, this.#redis.lock(encoded))
    return this.#keys
  }

  get isFull(): boolean {
    return this.#items.length >= maxKeys
  }

  get isEnoughToStart(): boolean {
    return this.#items.length >= enough
  }

  /** Whether it may be read by plain commands first. Who rejects a copy has read it already. */
  get mayReadFirst(): boolean {
    return !this.#rejects
  }

  get takesLocks(): boolean {
    return this.#takesLocks
  }

  /** The deadline counts from here: to gather lookups takes time. */
  begin(): void {
    this.deadlineMs = this.#redis.clock.monotonic() + this.withinMs
  }

  add(item: LookupItem, waiter: LookupWaiter): void {
    this.#items.push(item)
    this.#waiters.push(waiter)
    if (item.rejected === undefined) return
    this.#takesLocks = true
    if (item.rejected.length > 0) this.#rejects = true
  }

  args(): readonly RedisArgument[] {
    // As a lock is of one key, all locks of a call may have the same token.
    this.#token ||= this.#redis.newNonce()
    const args: RedisArgument[] = [this.#token, this.#lockText]
    for (const { rejected } of this.#items)
      args.push(rejected === undefined ? '-' : rejected.length > 0 ? rejected : '')
    return args
  }

  settle(reply: MsgpackReader, nowUs: number): void {
    const results = reply.read() as number[]
    this.#ended(results.every((result) => result >= 0))
    const waiters = this.#waiters
    for (let i = 0; i < waiters.length; i++) {
      const result = results[i]!
      if (result >= 0) waiters[i]!.resolve(StoredValue.next(reply, result, nowUs))
      else if (result === constants.LOCKED) waiters[i]!.resolve({ kind: 'locked', token: this.#token })
      else if (result === constants.NONE) waiters[i]!.resolve(none)
      else waiters[i]!.resolve({ kind: 'held', forMs: constants.HELD - result })
    }
  }

  fail(error: StoreError): void {
    this.#ended(false)
    for (const waiter of this.#waiters) waiter.reject(error)
  }

  /** The same lookups by plain commands, which cost Redis far less where there are many; then locks what is missing. */
  asRead(): ReadCall {
    const received = (values: readonly (Buffer | null)[], nowUs: number, endMs: number): void => {
      const missing = new LookupBatch(this.#redis, this.slot, this.withinMs, this.#lockText, this.#ended)
      missing.deadlineMs = endMs
      const waiters = this.#waiters
      let found = true
      for (let i = 0; i < waiters.length; i++) {
        const bytes = values[i]
        if (bytes) waiters[i]!.resolve(StoredValue.whole(bytes, nowUs))
        else if (this.#items[i]!.rejected !== undefined) missing.add(this.#items[i]!, waiters[i]!)
        else {
          found = false
          waiters[i]!.resolve(none)
        }
      }
      if (missing.size > 0) this.#redis.run(missing)
      else this.#ended(found)
    }
    const keys = this.#items.map(({ value }) => value)
    return { keys, deadlineMs: this.deadlineMs, size: keys.length, received, fail: (error) => this.fail(error) }
  }
}
