import type { StoreError } from '../../core/errors.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { ReadCall } from '../../redis/runner/read-call.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import type { TickBatch } from '../../redis/runner/tick-batcher.ts'
import { StoredValue } from '../values/stored-value.ts'
import { read } from './scripts.gen.ts'

/** With larger calls, Redis and this process would only wait for each other in turn. */
const maxKeys = 256
/** How many are worth a separate call while nothing else is in flight. */
const enough = 64

/** Receives the copy of one key. */
export interface ReadWaiter {
  resolve(stored: StoredValue | undefined): void
  reject(error: unknown): void
}

/** The keys that are read together: those requested in one turn of the event loop, per cluster slot. */
export class ReadBatch implements TickBatch<string, ReadWaiter>, ScriptCall, ReadCall {
  readonly script: typeof read = read
  readonly keys: string[] = []
  readonly slot: number
  readonly withinMs: number
  readonly deadlineMs: number
  readonly #waiters: ReadWaiter[] = []
  readonly #ended: () => void

  constructor(slot: number, withinMs: number, deadlineMs: number, ended: () => void) {
    this.slot = slot
    this.withinMs = withinMs
    this.deadlineMs = deadlineMs
    this.#ended = ended
  }

  get size(): number {
    return this.keys.length
  }

  get isFull(): boolean {
    return this.keys.length >= maxKeys
  }

  get isEnoughToStart(): boolean {
    return this.keys.length >= enough
  }

  add(key: string, waiter: ReadWaiter): void {
    this.keys.push(key)
    this.#waiters.push(waiter)
  }

  args(): readonly string[] {
    return []
  }

  settle(reply: MsgpackReader, nowUs: number): void {
    this.#ended()
    const lengths = reply.read() as number[]
    for (const [index, waiter] of this.#waiters.entries()) {
      const length = lengths[index]!
      waiter.resolve(length < 0 ? undefined : StoredValue.next(reply, length, nowUs))
    }
  }

  received(values: readonly (Buffer | null)[], nowUs: number): void {
    this.#ended()
    const waiters = this.#waiters
    for (let i = 0; i < waiters.length; i++) {
      const bytes = values[i]
      waiters[i]!.resolve(bytes ? StoredValue.whole(bytes, nowUs) : undefined)
    }
  }

  fail(error: StoreError): void {
    this.#ended()
    for (const waiter of this.#waiters) waiter.reject(error)
  }
}
