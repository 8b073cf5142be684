import type { StoreError } from '../../core/errors.ts'
import type { RedisArgument } from '../../redis/connection/connection.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import type { TickBatch } from '../../redis/runner/tick-batcher.ts'
import { store } from './scripts.gen.ts'

/** With larger calls, Redis would answer nobody else for too long. */
const maxKeys = 64
const maxBytes = 256 * 1024

/** One value to store under a fill lock. */
export interface StoreItem {
  readonly value: string
  readonly lock: string
  readonly token: string
  readonly copy: string | Buffer
  /** How long it is kept (ms); 0 for no expiry. */
  readonly keepMs: string
}

/** Receives when the value was stored, by the clock of Redis; 0 when the lock was lost. */
export interface StoreWaiter {
  resolve(id: number): void
  reject(error: unknown): void
}

/** The values that are stored together: those of one turn of the event loop, per cluster slot. */
export class StoreBatch implements TickBatch<StoreItem, StoreWaiter>, ScriptCall {
  readonly script: typeof store = store
  readonly keys: string[] = []
  readonly slot: number
  readonly withinMs: number
  readonly deadlineMs: number
  readonly isEnoughToStart = false
  readonly #args: RedisArgument[]
  readonly #waiters: StoreWaiter[] = []
  readonly #ended: () => void
  #bytes = 0

  constructor(slot: number, withinMs: number, deadlineMs: number, channel: string, ended: () => void) {
    this.slot = slot
    this.withinMs = withinMs
    this.deadlineMs = deadlineMs
    this.#args = [channel]
    this.#ended = ended
  }

  get size(): number {
    return this.#waiters.length
  }

  get isFull(): boolean {
    return this.#waiters.length >= maxKeys || this.#bytes >= maxBytes
  }

  add({ value, lock, token, copy, keepMs }: StoreItem, waiter: StoreWaiter): void {
    this.keys.push(value, lock)
    this.#args.push(token, copy, keepMs)
    this.#waiters.push(waiter)
    this.#bytes += copy.length
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
