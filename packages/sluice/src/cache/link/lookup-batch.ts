import type { StoreError } from '../../core/errors.ts'
import type { RedisArgument } from '../../redis/connection/connection.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { ReadCall } from '../../redis/runner/read-call.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import type { TickBatch } from '../../redis/runner/tick-batcher.ts'
import { StoredValue } from '../values/stored-value.ts'
import type { LookupWaiter } from './cache-link.ts'
import { constants, readOrLock } from './scripts.gen.ts'

/** With larger calls, Redis and this process would only wait for each other in turn. */
const maxKeys = 256
/** How many are worth a separate call while nothing else is in flight. */
const enough = 64

/** One key to look up. */
export interface LookupItem {
  readonly value: string
  readonly lock: string
  /** The beginning of a copy that counts as none. */
  readonly rejected: Buffer
}

/** What the lookups of one link have in common. */
export interface LookupContext {
  readonly lockMs: number
  /** A token that no other call has. As a lock is of one key, all locks of a call may have the same. */
  newToken(): string
  /** Sends a batch whose misses must be locked. */
  lock(batch: LookupBatch): void
  /** A batch has ended; `found` if every key had a copy. */
  ended(found: boolean): void
}

/** The lookups that are sent together: those of one turn of the event loop, per cluster slot. */
export class LookupBatch implements TickBatch<LookupItem, LookupWaiter, LookupBatch>, ScriptCall {
  readonly script: typeof readOrLock = readOrLock
  /** Pairs of a value and its lock. */
  readonly keys: string[] = []
  readonly slot: number
  readonly withinMs: number
  readonly deadlineMs: number
  readonly #context: LookupContext
  readonly #items: LookupItem[] = []
  readonly #waiters: LookupWaiter[] = []
  #token = ''
  #rejects = false

  constructor(slot: number, withinMs: number, deadlineMs: number, context: LookupContext) {
    this.slot = slot
    this.withinMs = withinMs
    this.deadlineMs = deadlineMs
    this.#context = context
  }

  get size(): number {
    return this.#items.length
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

  add(item: LookupItem, waiter: LookupWaiter): this {
    this.keys.push(item.value, item.lock)
    this.#items.push(item)
    this.#waiters.push(waiter)
    if (item.rejected.length > 0) this.#rejects = true
    return this
  }

  args(): readonly RedisArgument[] {
    this.#token ||= this.#context.newToken()
    const args: RedisArgument[] = [this.#token, String(this.#context.lockMs)]
    for (const { rejected } of this.#items) args.push(rejected.length === 0 ? '' : rejected)
    return args
  }

  settle(reply: MsgpackReader, nowUs: number): void {
    const results = reply.read() as number[]
    this.#context.ended(results.every((result) => result >= 0))
    const waiters = this.#waiters
    for (let i = 0; i < waiters.length; i++) {
      const result = results[i]!
      if (result >= 0) waiters[i]!.resolve(StoredValue.next(reply, result, nowUs))
      else if (result === constants.LOCKED) waiters[i]!.resolve({ kind: 'locked', token: this.#token })
      else waiters[i]!.resolve({ kind: 'held', forMs: constants.HELD - result })
    }
  }

  fail(error: StoreError): void {
    this.#context.ended(false)
    for (const waiter of this.#waiters) waiter.reject(error)
  }

  /** The same lookups by plain commands, which cost Redis far less where there are many; then locks what is missing. */
  asRead(): ReadCall {
    const received = (values: readonly (Buffer | null)[], nowUs: number): void => {
      const missing = new LookupBatch(this.slot, this.withinMs, this.deadlineMs, this.#context)
      const waiters = this.#waiters
      for (let i = 0; i < waiters.length; i++) {
        const bytes = values[i]
        if (bytes) waiters[i]!.resolve(StoredValue.whole(bytes, nowUs))
        else missing.add(this.#items[i]!, waiters[i]!)
      }
      if (missing.size === 0) this.#context.ended(true)
      else this.#context.lock(missing)
    }
    const keys = this.#items.map(({ value }) => value)
    return { keys, deadlineMs: this.deadlineMs, size: keys.length, received, fail: (error) => this.fail(error) }
  }
}
